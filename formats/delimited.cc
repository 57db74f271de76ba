#include "formats/delimited.h"

namespace pipeline {

bool DelimitedRow::Split(std::string_view row, std::size_t most) {
  fields_.clear();
  most_ = most;
  size_ = 0;
  if (quotes_) return SplitQuoted(row);
  while (true) {
    const std::size_t end = row.find(delimiter_);
    Add(row.substr(0, end));
    if (end == std::string_view::npos) return true;
    row.remove_prefix(end + 1);
  }
}

bool DelimitedRow::SplitQuoted(std::string_view row) {
  unquoted_.clear();
  unquoted_.reserve(row.size());  // so that fields_ can point into it
  while (true) {
    std::size_t end = 0;
    if (row.starts_with('"')) {
      row.remove_prefix(1);
      const std::size_t begin = unquoted_.size();
      end = row.find('"');
      const bool plain = end != std::string_view::npos && !row.substr(end).starts_with("\"\"");
      if (plain) {
        Add(row.substr(0, end));
      } else {
        for (; end != std::string_view::npos && row.substr(end).starts_with("\"\""); end = row.find('"')) {
          unquoted_.append(row.substr(0, end + 1));
          row.remove_prefix(end + 2);
        }
        if (end == std::string_view::npos) return false;
        unquoted_.append(row.substr(0, end));
        Add(std::string_view(unquoted_).substr(begin));
      }
      row.remove_prefix(end + 1);
      if (row.empty()) return true;
      if (row.front() != delimiter_) return false;
      row.remove_prefix(1);
      continue;
    }
    end = row.find(delimiter_);
    const std::string_view field = row.substr(0, end);
    if (field.find('"') != std::string_view::npos) return false;
    Add(field);
    if (end == std::string_view::npos) return true;
    row.remove_prefix(end + 1);
  }
}

void DelimitedRow::Add(std::string_view field) {
  if (size_++ < most_) fields_.push_back(field);
}

}  // namespace pipeline
