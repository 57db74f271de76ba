// The key of a document: a hash of its first bytes. Rules: formats/lines.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/line_rules.h"

namespace pipeline {

/// One thread at a time.
class DocumentKey {
 public:
  /// Returns the key of the document at the front of `rest`. `finished`: the text ends with `rest`. Absent:
  /// it needs more input.
  std::optional<std::uint64_t> OfLines(std::string_view rest, bool finished, const LineRules& rules,
                                       LineEnds ends);
  /// Returns the key of a row with quoted fields, of which all lines count. A row that is longer than a
  /// record: its front.
  std::uint64_t OfRow(std::string_view row, LineEnds ends);

  /// Bytes of memory that it holds now.
  std::size_t memory_bytes() const { return head_.capacity(); }

 private:
  std::string head_;  // scratch: the bytes that are hashed
};

}  // namespace pipeline
