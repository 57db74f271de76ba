// Columns of records.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pipeline {

enum class ColumnType : std::uint8_t { kUtf8, kU32List, kU8 };

/// Columns of the records at one point of the graph.
struct Schema {
  std::map<std::string, ColumnType, std::less<>> columns;
  std::vector<std::string> splits;  // names for column `split`; {"train"}: no stage split
  std::vector<std::string> field_names =
      {};  // of column `fields`, in the order of the fields; empty: no such column

  bool operator==(const Schema&) const = default;
};

}  // namespace pipeline
