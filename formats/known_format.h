// Recognises formats that are not plain text by their first bytes. Table: formats/known_formats.md.
#pragma once

#include <cstddef>
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

/// kUnimplemented, with the name of the format and advice: `front` begins a known format. Formats with
/// is_text pass if `are_text`.
Status RefuseKnownFormat(std::string_view front, bool are_text);

}  // namespace pipeline
