// Splits one row of TSV or CSV into fields. Rules: formats/rows.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// One thread at a time; memory is reused from row to row.
class DelimitedRow {
 public:
  /// `quotes`: fields may be quoted as in RFC 4180.
  DelimitedRow(char delimiter, bool quotes) : delimiter_(delimiter), quotes_(quotes) {}

  /// Replaces the fields by the first `most` fields of `row`. False: a quote is at a wrong position, and
  /// the fields are invalid.
  bool Split(std::string_view row, std::size_t most);

  /// Number of fields in the row.
  std::size_t size() const { return size_; }
  /// The fields that were kept. Valid until the next Split, while the row exists.
  const std::vector<std::string_view>& fields() const { return fields_; }

 private:
  bool SplitQuoted(std::string_view row);
  void Add(std::string_view field);

  const char delimiter_;
  const bool quotes_;
  std::size_t most_ = 0;
  std::size_t size_ = 0;
  std::vector<std::string_view> fields_;
  std::string unquoted_;  // holds fields with an escaped quote ("")
};

}  // namespace pipeline
