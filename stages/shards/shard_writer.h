// Writes a shard and, if its rules have one, the index beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "dag/records/publication.h"
#include "stages/shards/measured_writer.h"
#include "stages/shards/sharded_stage.h"

namespace pipeline {

/// Writes an object in a form. One thread at a time. If it is destroyed uncommitted, the object never
/// existed.
class FormedWriter {
 public:
  /// `form` null: the object is its rows, one behind the other.
  static Result<std::unique_ptr<FormedWriter>> Create(Store& store, const std::string& name,
                                                      const Condition& condition, const NewShardForm& form);
  Status Append(std::string_view row);
  Result<StoredObject> Commit(const std::stop_token& stop);

 private:
  FormedWriter(std::unique_ptr<MeasuredWriter> object, std::unique_ptr<ShardForm> form)
      : object_(std::move(object)), form_(std::move(form)) {}

  const std::unique_ptr<MeasuredWriter> object_;
  const std::unique_ptr<ShardForm> form_;  // null: none
  std::string formed_;                     // used in Append alone
};

/// One thread at a time. If it is destroyed uncommitted, neither object ever existed.
class ShardWriter final : public UncommittedShard {
 public:
  struct Names {
    std::string shard;
    std::string index;  // empty: none
  };
  /// Uses two members of `rules`: `index`, whose numbers are summed even if no index is published, and
  /// `form`. `formed` is false: the index has its plain entries, without ShardIndex::form.
  static Result<std::unique_ptr<ShardWriter>> Create(Store& store, const Names& names,
                                                     const ShardRules& rules,
                                                     const ShardConditions& conditions, bool formed = true);

  /// Appends one row, with the index numbers in front.
  Status Append(std::string_view payload);
  /// Appends `count` rows, back to back, to a shard without an index or form.
  Status AppendRows(std::string_view rows, std::uint64_t count);

  Result<ShardOutput> Commit(const std::stop_token& stop) override;

 private:
  ShardWriter() = default;

  std::unique_ptr<FormedWriter> shard_;
  std::unique_ptr<FormedWriter> index_;  // null: none
  std::uint64_t offset_ = 0;             // of the next row in the shard
  ShardOutput output_;                   // without its objects
  std::string entry_;                    // used in Append alone
};

/// Returns the sums of the numbers in `index`, as ShardWriter computed them. kDataLoss: its length is not
/// that of `records` entries.
Result<std::vector<std::uint64_t>> SumIndex(std::string_view index, std::size_t numbers,
                                            std::uint64_t records);

/// Bytes of an index per row.
constexpr std::size_t IndexEntryBytes(std::size_t numbers) {
  return sizeof(std::uint64_t) + numbers * sizeof(std::uint32_t);
}

}  // namespace pipeline
