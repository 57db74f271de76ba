// Formats that are no plain text, by the bytes at their front. Table: formats/known_formats.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace pipeline {

struct KnownFormat {
  std::string_view name;    // "a PDF document"
  std::string_view advice;  // what to do with it
  bool is_text = false;     // it may be asked for as text all the same
};

/// Enough of a front for RecogniseFormat; all of a shorter input.
inline constexpr std::size_t kKnownFormatBytes = 512;

/// `front` is decompressed. Absent for plain text and for whatever is not in the table; so is a zip, unless
/// its first member says that it is a document or a program.
std::optional<KnownFormat> RecogniseFormat(std::string_view front);

/// kUnimplemented, with the format's name and what to do, where `front` begins one; formats of text pass
/// where they `are_text`.
Status RefuseKnownFormat(std::string_view front, bool are_text);

}  // namespace pipeline
