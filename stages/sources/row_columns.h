// Extracts text and label from the columns of a TSV or CSV row. Rules: formats/rows.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dag/records/batch.h"
#include "formats/delimited.h"

namespace pipeline {

/// The highest column position.
inline constexpr std::size_t kMostColumns = 65'536;

/// The parts of a row that become its text and its label: columns, members of JSON or features.
struct TextRules {
  std::vector<std::string> text;  // their names, or positions of columns from 1 on
  std::string label;              // empty: no label
  bool fields = false;            // each part of the text is one line of it, even an empty one: a field
  bool fail = false;              // fail on a bad row instead of setting it aside
  /// An absent part, a null of JSON and an empty part are the same, and no fault; without `fields` they make
  /// no line.
  bool may_lack = false;
  bool space_is_blank = false;  // as in LineRules, of the lines inside a part
};

struct ColumnRules : TextRules {
  char delimiter = '\t';
  bool quotes = false;  // quotes have the meaning of RFC 4180
  bool header = true;
};

/// Why a row was set aside.
struct BadRow {
  std::string_view reason;  // empty: it is good
  std::string why;
};

/// Removes the next line from `text` and returns it without its line end.
std::string_view TakeLine(std::string_view& text);

/// Appends a part of the text of a row and returns how many blank lines in it were passed over. `first`: none
/// of this row was appended yet.
std::uint64_t AppendPart(const TextRules& rules, std::string_view part, bool& first, std::string& out);

/// Converts a position from 1 to kMostColumns to an index from 0; absent: `text` is not a position.
std::optional<std::size_t> ColumnPosition(std::string_view text);

/// Advice about rows whose quotes are wrong. `rows`: some of them, one after the other.
std::string QuotesAdvice(std::string_view rows, std::size_t max_record_bytes);
/// Advice about rows with another number of fields.
std::string WidthAdvice(const ColumnRules& rules);
/// Returns "they have body, id; did you mean 'body'?" about a column that is not among the `names` of rows.
std::string ColumnsAdvice(const std::string& column, const std::vector<std::string_view>& names);

/// One thread at a time.
class RowColumns {
 public:
  /// Without a header, every column of `rules` must be a position.
  explicit RowColumns(const ColumnRules& rules);

  /// Finds the columns; kInvalidArgument if one is missing.
  Status TakeHeader(std::string_view row);
  /// Appends the text and label of a row and returns an empty view. For a bad row it appends nothing and
  /// returns the reason, or an error if `rules.fail` is set.
  Result<std::string_view> Take(std::string_view row, BytesColumn& text, BytesColumn& label);
  /// Returns how many blank lines inside columns were passed over since the last call.
  std::uint64_t TakeBlankLines() { return std::exchange(blank_lines_, 0); }

 private:
  Status Find(const std::string& column, const std::vector<std::string_view>& names, std::size_t& index);

  const ColumnRules rules_;
  DelimitedRow row_;
  std::vector<std::size_t> text_;
  std::size_t label_ = 0;
  std::size_t wanted_ = 0;  // number of fields up to the last needed column
  std::size_t width_ = 0;   // of the header; 0: no header
  std::uint64_t blank_lines_ = 0;
};

}  // namespace pipeline
