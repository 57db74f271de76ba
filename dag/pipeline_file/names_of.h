// The names of the rows of a table.
#pragma once

#include <string_view>
#include <vector>

namespace pipeline {

/// Returns the member `name` of each row, in their order.
template <class Rows>
std::vector<std::string_view> NamesOf(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

}  // namespace pipeline
