// Which fields of a row of TSV or CSV become text and label. Rules: formats/rows.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/delimited.h"
#include "records/batch.h"

namespace pipeline {

/// The highest position that a column can have.
inline constexpr std::size_t kMostColumns = 65'536;

struct ColumnRules {
  char delimiter = '\t';
  bool quotes = false;  // those of RFC 4180 count
  bool header = true;
  bool fail = false;              // on a bad row, instead of setting it aside
  std::vector<std::string> text;  // names, or positions from 1 on
  std::string label;              // empty where there is none
  bool fields = false;            // each column keeps to a line of its own in the text
};

/// The next line of `text`, which gets shorter, without its end.
std::string_view TakeLine(std::string_view& text);

/// Appends the lines of `value` that are not blank, joined by spaces.
void AppendOnOneLine(std::string_view value, std::string& out);

/// A position from 1 to kMostColumns as an index from 0; absent where `text` is something else.
std::optional<std::size_t> ColumnPosition(std::string_view text);

/// One thread at a time.
class RowColumns {
 public:
  /// Without a header every column of `rules` is a position.
  explicit RowColumns(const ColumnRules& rules);

  /// Finds the columns; kInvalidArgument where one is not there.
  Status TakeHeader(std::string_view row);
  /// Appends text and label of a row and gives an empty view, or, appending nothing, the reason why the row
  /// is bad: an error instead where the rules say so, which names the row by `number`.
  Result<std::string_view> Take(std::string_view row, std::uint64_t number, BytesColumn& text,
                                BytesColumn& label);

 private:
  Status Find(const std::string& column, const std::vector<std::string_view>& names, std::size_t& index);

  const ColumnRules rules_;
  DelimitedRow row_;
  std::vector<std::size_t> text_;
  std::size_t label_ = 0;
  std::size_t wanted_ = 0;  // fields up to the last column wanted
  std::size_t width_ = 0;   // of the header; 0 without one
};

}  // namespace pipeline
