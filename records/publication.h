// The second pass of a Sink stage: pieces become shards, and what describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "records/stored_object.h"
#include "storage/store.h"

namespace pipeline {

/// One object of a published artifact.
struct Shard {
  std::string split;
  std::uint32_t number = 0;
  std::uint32_t count = 0;  // of shards of the split
  std::string object;       // relative to `out`
  /// Names everything its bytes depend on besides the stage itself: the pieces it is made of.
  Digest pieces;
  /// An object beside it that says where each record lies, relative to `out`; empty: there is none.
  std::string index = {};
};

/// A published shard, as its log line and the manifest name it.
struct ShardOutput {
  StoredObject object;
  std::uint64_t records = 0;
  std::optional<StoredObject> index = {};  // committed before the shard itself
  std::vector<std::uint64_t> sums = {};    // of numbers that its stage counts of each record
};

/// A small object beside the shards.
struct Sidecar {
  std::string object;
  std::string bytes;
};
struct Sidecars {
  std::vector<Sidecar> before_manifest;
  std::vector<Sidecar> after_manifest;  // for readers that take a file's existence as completeness
};

/// The second pass of a Sink stage that publishes shards: made once all pieces are complete.
/// Immutable after planning; Run is called from several threads with different groups.
class Publication {
 public:
  virtual ~Publication() = default;
  /// Every shard, by split and number. Depends on the pieces and the stage's configuration alone.
  virtual const std::vector<Shard>& shards() const = 0;
  /// Bytes of shards for each byte of payload, about.
  virtual double growth() const { return 1; }
  /// Shards that are best written together, as positions in shards(). The grouping may depend on
  /// memory; the bytes do not.
  virtual std::vector<std::vector<std::size_t>> Groups(std::uint64_t memory_bytes) const = 0;
  /// Writes those shards of `group` that are `wanted`, each with create-only or replacing commits
  /// as `condition` says, and calls `committed` after each in order.
  virtual Status Run(const std::vector<std::size_t>& group,
                     const std::function<bool(std::size_t shard)>& wanted,
                     const std::function<Condition(const std::string& object)>& condition, Store& out,
                     const std::function<Status(std::size_t shard, const ShardOutput&)>& committed,
                     std::uint64_t memory_bytes, std::stop_token stop) const = 0;
  /// The objects that describe the finished whole; `outputs` is parallel to shards().
  virtual Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const = 0;
};

}  // namespace pipeline
