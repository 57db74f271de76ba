// Second pass of a Sink stage: makes shards from partition outputs, and the objects that describe them.
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
#include "dag/records/stored_object.h"
#include "storage/store.h"

namespace pipeline {

/// One object of a published artifact.
struct Shard {
  std::string split;
  std::uint32_t number = 0;
  std::uint32_t count = 0;  // number of shards in the split
  std::string object;       // relative to `out`
  /// Names everything on which its bytes depend besides the stage itself: its partition outputs.
  Digest outputs;
  /// An object beside it with the position of each record, relative to `out`; empty: none.
  std::string index = {};
};

/// A published shard, for its log line and the manifest.
struct ShardOutput {
  StoredObject object;
  std::uint64_t records = 0;
  std::optional<StoredObject> index = {};  // committed before the shard itself
  std::vector<std::uint64_t> sums = {};    // of the numbers that its stage counts per record
};

/// A small object beside the shards.
struct Sidecar {
  std::string object;
  std::string bytes;
};
struct Sidecars {
  std::vector<Sidecar> before_manifest;
  std::vector<Sidecar> after_manifest;  // for readers that take a file as a sign of completeness
};

/// Second pass of a Sink stage that publishes shards; created when all partition outputs are complete.
/// Immutable after planning. Several threads call Run, with different groups.
class Publication {
 public:
  virtual ~Publication() = default;
  /// All shards, by split and number. They depend on the partition outputs and the stage's configuration
  /// alone.
  virtual const std::vector<Shard>& shards() const = 0;
  /// Approximate bytes of shards per byte of payload.
  virtual double growth() const { return 1; }
  /// Returns groups of shards that are best written together, as positions in shards(). The groups may
  /// depend on memory; the bytes do not.
  virtual std::vector<std::vector<std::size_t>> Groups(std::uint64_t memory_bytes) const = 0;
  /// Writes the shards of `group` that are `wanted`, with a create-only or replacing commit as `condition`
  /// says, and calls `committed` after each one, in order.
  virtual Status Run(const std::vector<std::size_t>& group,
                     const std::function<bool(std::size_t shard)>& wanted,
                     const std::function<Condition(const std::string& object)>& condition, Store& out,
                     const std::function<Status(std::size_t shard, const ShardOutput&)>& committed,
                     std::uint64_t memory_bytes, std::stop_token stop) const = 0;
  /// Returns the objects that describe the finished artifact; `outputs` is parallel to shards().
  virtual Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const = 0;
};

}  // namespace pipeline
