// Writes a shard and, where its rules ask for one, the index beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "records/publication.h"
#include "shards/measured_writer.h"
#include "shards/sharded_output.h"

namespace pipeline {

/// One thread at a time. Destroyed uncommitted, neither object ever existed.
class ShardWriter {
 public:
  struct Names {
    std::string shard;
    std::string index;  // empty: none
  };
  /// `numbers` as ShardIndex::numbers, which are summed whether or not there is an index; `expand` as
  /// ShardRules::expand.
  static Result<std::unique_ptr<ShardWriter>> Create(
      Store& store, const Names& names, std::size_t numbers,
      const std::function<Condition(const std::string& object)>& condition, ExpandRow expand = {});

  /// One row, with the numbers in front.
  Status Append(std::string_view payload);
  /// So many rows as the shard has them, back to back; without an index or numbers.
  Status AppendRows(std::string_view rows, std::uint64_t count);

  /// Commits the index first: a shard that can be seen has one.
  Result<ShardOutput> Commit(const std::stop_token& stop);

 private:
  ShardWriter() = default;

  std::unique_ptr<MeasuredWriter> shard_;
  std::unique_ptr<MeasuredWriter> index_;  // null: none
  std::uint64_t offset_ = 0;               // of the next row in the shard
  ShardOutput output_;                     // but for its objects
  std::string entry_;
  ExpandRow expand_;  // empty: rows are as they come
  std::string expanded_;
};

/// What ShardWriter found when it wrote `index`: the sums of its numbers. kDataLoss where its length is not
/// that of `records` entries.
Result<std::vector<std::uint64_t>> SumIndex(std::string_view index, std::size_t numbers,
                                            std::uint64_t records);

/// Bytes of an index per row.
constexpr std::size_t IndexEntryBytes(std::size_t numbers) {
  return sizeof(std::uint64_t) + numbers * sizeof(std::uint32_t);
}

}  // namespace pipeline
