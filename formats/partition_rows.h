// The rows of a partition file, column by column, and their digest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/status.h"

namespace pipeline {

enum class PartitionColumnType : std::uint8_t { kUtf8 = 1, kU32List = 2, kU8 = 3 };

struct PartitionColumn {
  std::string name;
  PartitionColumnType type = PartitionColumnType::kUtf8;
  bool operator==(const PartitionColumn&) const = default;
};
using PartitionColumns = std::vector<PartitionColumn>;

/// Position of a row in its partition.
struct PartitionHead {
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  std::uint64_t document = 0;
  std::uint64_t key = 0;
  bool operator==(const PartitionHead&) const = default;
};

/// A column of rows that the caller owns; only the members that its type needs are set.
struct ColumnView {
  std::string_view bytes;                  // utf8: all rows, back to back
  std::span<const std::uint32_t> numbers;  // u32[]: all rows, back to back
  std::span<const std::uint32_t> ends;     // utf8, u32[]: end of each row in these
  std::span<const std::uint8_t> values;    // u8
};

/// `columns` is parallel to the schema; each column has a row for each head.
struct RowsView {
  std::span<const PartitionHead> heads;
  std::span<const ColumnView> columns;
};

/// Rows that were read. Memory is reused from frame to frame.
struct PartitionRows {
  struct Column {
    std::string bytes;
    std::vector<std::uint32_t> numbers;
    std::vector<std::uint32_t> ends;
    std::vector<std::uint8_t> values;
    ColumnView view() const { return {bytes, numbers, ends, values}; }
  };
  std::vector<PartitionHead> heads;
  std::vector<Column> columns;
};

/// Appends rows [first, last) as the uncompressed content of one frame.
void EncodeRows(const PartitionColumns& columns, const RowsView& rows, std::size_t first, std::size_t last,
                std::string& raw);

/// Replaces `rows` by the `records` rows in `raw`. kDataLoss names the offset in `raw`.
Status DecodeRows(const PartitionColumns& columns, std::string_view raw, std::uint32_t records,
                  PartitionRows& rows);

/// Largest number of bytes that a row needs in a frame; the encoder cuts batches into frames by it.
std::size_t MaxRowBytes(const PartitionColumns& columns, const RowsView& rows, std::size_t row);

/// Digest of rows, independent of frame borders. One thread at a time, in order.
class RowsDigest {
 public:
  explicit RowsDigest(PartitionColumns columns);
  void Update(const RowsView& rows);
  std::uint64_t records() const { return records_; }
  Digest Finish() const;

 private:
  struct ColumnHashers {
    Hasher lengths;
    Hasher content;
  };
  PartitionColumns columns_;
  std::vector<ColumnHashers> hashers_;  // parallel to columns_
  Hasher index_, sub_, document_, key_;
  std::uint64_t records_ = 0;
  std::string scratch_;
};

}  // namespace pipeline
