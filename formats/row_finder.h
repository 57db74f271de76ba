// Finds the end of the line, or of the row with quoted fields (RFC 4180), at the front of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/line_rules.h"

namespace pipeline {

/// A line or row, or its remaining part, at the front of a text.
struct FoundRow {
  bool fits = false;         // `content` has at most max_record_bytes; if false: the rest is not valid
  std::string_view content;  // without the line end
  std::size_t size = 0;      // in bytes, with the line end
  /// kOther: LF, or no end. kCr, kLf: in a text of LineEnds::kCr. A CR at the end of the input counts as
  /// kCrLf in a text of LineEnds::kLf.
  enum class End : std::uint8_t { kOther, kCrLf, kCr, kLf };
  End end = End::kOther;
};

/// Returns `line`, which has no LF, without a CR at its end.
std::string_view WithoutCr(std::string_view line);

/// Scans each byte once, although Find is called again whenever more of a line arrives; lines behind a wrong
/// quote once more. One thread at a time.
class RowFinder {
 public:
  /// `quoted_delimiter`, `wrong_quotes_end_lines`: as in LineRules; NUL: each LF ends a row.
  /// `max_record_bytes`: without the line end.
  RowFinder(char quoted_delimiter, std::size_t max_record_bytes, bool wrong_quotes_end_lines)
      : quoted_delimiter_(quoted_delimiter),
        max_record_bytes_(max_record_bytes),
        wrong_quotes_end_lines_(wrong_quotes_end_lines) {}

  /// Call before the first row of a section.
  void SetEnds(LineEnds ends) { ends_ = ends; }
  LineEnds ends() const { return ends_; }
  bool quoted() const { return quoted_delimiter_ != '\0'; }

  /// Finds the row at the front of `rest`, the text that is not consumed yet. `finished`: the text ends with
  /// `rest`. Returns false if it needs more input. The end of a row that does not fit may be beyond `rest`.
  /// `row.content` is a part of `rest`.
  bool Find(std::string_view rest, bool finished, FoundRow& row);

  /// Removes `bytes` from the front of the text. Call it for all bytes that are processed.
  void Consume(std::size_t bytes) { scanned_ -= bytes < scanned_ ? bytes : scanned_; }
  /// The next byte begins a row. Call it at the end of each row.
  void EndRow() {
    field_ = Field::kBegins;
    line_end_ = kNone;
    if (wrong_quotes_end_lines_) scanned_ = 0;  // lines behind a wrong quote are rows
  }

 private:
  /// Position in a row of RFC 4180.
  enum class Field : std::uint8_t {
    kBegins,
    kPlain,
    kQuoted,
    kQuoteEnds,
    kWrong,  // the quotes of the row are wrong: the next LF ends it
  };

  static constexpr std::size_t kNone = std::string_view::npos;

  bool ScanLine(std::string_view window);
  bool ScanFields(std::string_view window);
  std::size_t FindLineEnd(std::string_view window, std::size_t at) const;
  bool EndsLine(char byte) const { return byte == '\n' || (byte == '\r' && ends_ == LineEnds::kCr); }
  /// The row ends with the line in which its last quoted field was opened.
  void EndWithLine();

  char quoted_delimiter_;
  std::size_t max_record_bytes_;
  bool wrong_quotes_end_lines_;
  LineEnds ends_ = LineEnds::kLf;
  std::size_t scanned_ = 0;       // bytes at the front of the text that are scanned; none ends a row
  Field field_ = Field::kBegins;  // state after these bytes
  std::size_t line_end_ = kNone;  // the first LF in the quoted field that was opened last; kNone so far
};

}  // namespace pipeline
