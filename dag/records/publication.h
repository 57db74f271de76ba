// Second pass of a Sink stage: makes shards from partition outputs, and the objects that describe them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// A shard that is written but not visible. If it is destroyed uncommitted, it never existed. Any thread may
/// commit it, while its GroupWriter writes the next one.
class UncommittedShard {
 public:
  virtual ~UncommittedShard() = default;
  /// Commits the index first, so that each visible shard has its index. The last call.
  virtual Result<ShardOutput> Commit(const std::stop_token& stop) = 0;
};

/// The conditions for the commits of a shard and of the index beside it.
struct ShardConditions {
  Condition shard;
  Condition index = {};  // unused if the shard has none
};

/// Writes some shards of one group, in order. One thread at a time.
class GroupWriter {
 public:
  virtual ~GroupWriter() = default;
  /// Writes the next shard of GroupRequest::shards. No call may follow an error. kCancelled: stopped.
  virtual Result<std::unique_ptr<UncommittedShard>> WriteNext(const ShardConditions& conditions) = 0;
};

struct GroupRequest {
  std::vector<std::size_t> shards;  // of one group, in its order: the shards to write
  Store* out = nullptr;             // not null; outlives the writer
  std::uint64_t memory_bytes = 0;
  std::stop_token stop;
};

/// Second pass of a Sink stage that publishes shards; created when all partition outputs are complete.
/// Immutable after planning. Several threads call OpenGroup, with different groups.
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
  /// The publication outlives the writer.
  virtual std::unique_ptr<GroupWriter> OpenGroup(GroupRequest request) const = 0;
  /// Returns the objects that describe the finished artifact; `outputs` is parallel to shards().
  virtual Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const = 0;
};

}  // namespace pipeline
