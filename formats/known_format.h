// Recognises formats that are not plain text by their first bytes. Table: formats/known_formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace pipeline {

struct KnownFormat {
  std::string_view name;    // "a PDF document"
  std::string_view advice;  // instruction for the person
  bool is_text = false;     // may be read as text on request
  bool is_packed = false;   // the message names the compressed formats and archives that are read
};

/// Number of leading bytes that RecogniseFormat needs; a shorter input is passed whole.
inline constexpr std::size_t kKnownFormatBytes = 512;

/// `front` is decompressed. Absent: plain text, or a format that is not in the table; also a zip, unless
/// its first member shows a document or a program.
std::optional<KnownFormat> RecogniseFormat(std::string_view front);

/// The forms of text that a reader takes.
enum class TextForms : std::uint8_t {
  kProse,  // lines of words
  kRows,   // also JSON Lines, whose rows are data
  kAny,    // also formats with is_text
};

/// kUnimplemented, with the name of the format and advice: `front` begins a known format that is not among
/// `forms`.
Status RefuseKnownFormat(std::string_view front, TextForms forms);

}  // namespace pipeline
