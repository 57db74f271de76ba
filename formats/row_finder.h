// Finds the end of the line, or of the row with quoted fields (RFC 4180), at the front of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipeline {

/// A line or row, or the remaining part of one, at the front of a text.
struct FoundRow {
  bool fits = false;         // it fits into a record; other members are valid only then
  std::string_view content;  // without the line end
  std::size_t size = 0;      // with the line end
  bool cr = false;           // the line end has a CR
};

/// Returns the line without a CR at its end.
std::string_view WithoutCr(std::string_view line);

/// Remembers how far it looked, so that no byte is looked at twice while more of a line arrives.
/// One thread at a time.
class RowFinder {
 public:
  /// `quoted_delimiter`: as in LineRules; NUL: each LF ends a row.
  RowFinder(char quoted_delimiter, std::size_t max_record_bytes)
      : quoted_delimiter_(quoted_delimiter), max_record_bytes_(max_record_bytes) {}

  bool quoted() const { return quoted_delimiter_ != '\0'; }

  /// Finds the row at the front of `rest`. `finished`: the text ends with `rest`. Returns false if it needs
  /// more input. A row that does not fit may have its end beyond `rest`.
  bool Find(std::string_view rest, bool finished, FoundRow& row);

  /// Call for all bytes that are taken from the front of the text.
  void Consume(std::size_t bytes) { scanned_ -= bytes < scanned_ ? bytes : scanned_; }
  /// Call at the end of each row.
  void EndRow() { field_ = Field::kBegins; }

 private:
  /// Position in a row of RFC 4180.
  enum class Field : std::uint8_t { kBegins, kPlain, kQuoted, kQuoteEnds };

  std::size_t FindEnd(std::string_view window);

  char quoted_delimiter_;
  std::size_t max_record_bytes_;
  std::size_t scanned_ = 0;       // bytes at the front of the text without the end of a row
  Field field_ = Field::kBegins;  // state after these bytes
};

}  // namespace pipeline
