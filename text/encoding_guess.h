// Guesses the encoding of a text from a sample. Rules: text/encodings.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/encoding.h"

namespace pipeline {

/// Bytes of a text that decide, counted from the first byte that distinguishes encodings.
inline constexpr std::size_t kDecidingBytes = 1 << 20;

/// Position of the first byte that differs between encodings (other than UTF-16): ESC or a byte above 7F,
/// with `nul` also NUL. npos: there is none.
std::size_t FindDecidingByte(std::string_view bytes, bool nul);

/// Decides by the byte order mark at the front, or recognises UTF-16 by its NULs. A mark of UTF-8 or UTF-32
/// gives kUtf8: the text stays as it is. Absent: another encoding. kInvalidArgument: both byte orders fit
/// equally well.
Result<std::optional<Encoding>> GuessWideEncoding(std::string_view front);

/// Decides by `sample`, which starts after the ASCII part, may end inside a character, and is not UTF-16.
/// kInvalidArgument: two encodings fit equally well, or it is one that is not read; the message names them.
/// Not `by_letters`: decides by characters alone, as versions before reading rules 2 did.
Result<Encoding> GuessEncoding(std::string_view sample, bool by_letters = true);

/// Returns whether a line has an escape sequence with which characters of ISO-2022-JP begin.
bool HasIso2022Jp(std::string_view line);

/// kInvalidArgument: `front`, which has no byte above 7F and no ESC, is text in HZ or UTF-7.
Status CheckAscii(std::string_view front);

/// Names the encodings that `bytes`, lines that are not UTF-8, may have, and what to do: "shift_jis: set
/// encoding". Empty: none fits.
std::string FittingNames(std::string_view bytes);

}  // namespace pipeline
