// One row of TSV or CSV to fields. Rules: formats/rows.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// One thread at a time; its memory is reused from row to row.
class DelimitedRow {
 public:
  /// `quotes`: those of RFC 4180 count.
  DelimitedRow(char delimiter, bool quotes) : delimiter_(delimiter), quotes_(quotes) {}

  /// Replaces the fields, of which the first `most` are kept. False where a quote stands where none may:
  /// the fields are then of no use.
  bool Split(std::string_view row, std::size_t most);

  /// How many the row has.
  std::size_t size() const { return size_; }
  /// The first ones. Valid while the row is, until the next Split.
  const std::vector<std::string_view>& fields() const { return fields_; }

 private:
  bool SplitQuoted(std::string_view row);
  void Add(std::string_view field);

  const char delimiter_;
  const bool quotes_;
  std::size_t most_ = 0;
  std::size_t size_ = 0;
  std::vector<std::string_view> fields_;
  std::string unquoted_;  // holds fields in which "" stood
};

}  // namespace pipeline
