// Which encoding a text has, from a piece of it. Rules: text/encodings.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/encoding.h"

namespace pipeline {

/// How much of a text decides, from the first byte on that tells encodings apart.
inline constexpr std::size_t kDecidingBytes = 1 << 20;

/// Where the first byte stands that is not the same in all encodings but UTF-16; npos where there is none.
/// With `nul` a NUL is such a byte, too.
std::size_t FindDecidingByte(std::string_view bytes, bool nul);

/// By what text begins with: its byte order mark (of UTF-8, too, or of UTF-32, which stays as it is), or as
/// UTF-16 by NULs. Absent where it is another encoding. kInvalidArgument where both byte orders fit alike.
Result<std::optional<Encoding>> GuessWideEncoding(std::string_view front);

/// By `sample`, which begins behind ASCII and may end inside a character; none of UTF-16. kInvalidArgument
/// where two fit alike: the message names them.
Result<Encoding> GuessEncoding(std::string_view sample);

/// Those that `bytes`, lines that are no UTF-8, could be; none where none fits.
std::vector<Encoding> FittingEncodings(std::string_view bytes);

}  // namespace pipeline
