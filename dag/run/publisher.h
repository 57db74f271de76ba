// The second pass of a segment: writes the shards, the objects that describe them, the manifest, and last
// the objects that other readers take for the sign of completeness.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "dag/books/location_log.h"
#include "dag/location/location_names.h"
#include "dag/run/artifact_summary.h"
#include "dag/run/segment_unit.h"

namespace pipeline {

/// Publishes one segment in one run. Groups may run at the same time; everything else runs alone.
class Publisher {
 public:
  /// `out` is rooted at the location. `scope` and `out` outlive the publisher.
  Publisher(const SegmentScope& scope, Store& out);
  ~Publisher();

  /// Plans the shards from `outputs`, finds those that exist, and prepares the location for the others:
  /// writes a marker, and with `replaces` removes the manifest first. Makes at least `writers` groups, if so
  /// many shards are missing.
  Status Begin(const std::vector<PartitionOutput>& outputs, std::uint64_t memory_bytes, int writers);

  /// Groups with at least one missing shard.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }
  /// Returns the unit name of a group: that of its first shard.
  std::string UnitOf(std::size_t group) const;
  std::size_t shards() const;
  std::size_t existing_shards() const EXCLUDES(mutex_);
  /// The text of an artifact, by split.
  using Splits = std::map<std::string, ArtifactTotals::Split, std::less<>>;
  /// Returns the share of the text `splits` that is in the shards of `group`, about.
  double ShareOf(std::size_t group, const Splits& splits) const;
  /// Approximate bytes of shards per byte of text.
  double growth() const;

  /// Writes and logs the missing shards of a group. If the failure is a damaged partition output:
  /// DamagedOutput(status) names it.
  Status RunGroup(std::size_t group, std::uint64_t memory_bytes, std::stop_token stop);

  /// Writes the descriptions, removes leftovers, and commits the manifest. The caller has checked
  /// `summary`.
  Status Finish(const ArtifactSummary& summary, const Schema& schema);

 private:
  Status CheckRoom(const std::vector<PartitionOutput>& outputs) const REQUIRES(mutex_);
  Status Withdraw();
  /// Names of all shards and their indexes.
  std::vector<std::string> PlannedNames() const;
  /// Returns whether `shard` exists as `line` describes it, and if so notes its output.
  Result<bool> NoteExisting(std::size_t shard, const UnitLine& line) REQUIRES(mutex_);
  /// Notes that `shard` exists.
  void NoteOutput(std::size_t shard, ShardOutput output) REQUIRES(mutex_);
  /// Reuses shards that are still missing, if the log at the location describes them.
  Status ReuseFromLocation(const std::vector<ObjectInfo>& there) REQUIRES(mutex_);
  Condition ConditionFor(const std::string& object) const;
  /// Writes the missing shards of a group; each is committed and logged while the next one is written.
  Status WriteShards(std::size_t group, SegmentProgress& counters, std::uint64_t memory_bytes,
                     const std::stop_token& stop);
  std::vector<std::size_t> MissingShards(std::size_t group) const EXCLUDES(mutex_);
  /// Returns whether a group that met an unknown object at the name of a shard can go on and replace it:
  /// this run holds the location, and the writer of the object does not. False: `outcome` has the failure.
  bool LearnsOfOthers(std::size_t group, Status& outcome, const std::stop_token& stop);
  Status Log(std::size_t shard, const ShardOutput& output, const std::stop_token& stop);

  const SegmentScope& scope_;
  Store& out_;
  std::unique_ptr<Publication> publication_;
  std::unique_ptr<LocationNames> names_;
  std::vector<std::vector<std::size_t>> groups_;
  std::unique_ptr<LocationLog> location_log_;  // null: the location is on this machine
  bool others_wrote_ = false;                  // an object of the right size may be another run's

  mutable Mutex mutex_;
  std::map<std::string, ObjectInfo> there_
      GUARDED_BY(mutex_);  // by name; objects that were at the location at the beginning, or were met later
  std::set<std::string> learned_ GUARDED_BY(mutex_);     // names of those that were met later
  std::vector<ShardOutput> outputs_ GUARDED_BY(mutex_);  // by shard
  std::vector<bool> exists_ GUARDED_BY(mutex_);
  std::size_t existing_ GUARDED_BY(mutex_) = 0;  // of exists_
};

/// Writes the manifest of an artifact that is kept in the work directory: it consists of partition outputs
/// alone.
Status FinishOutputs(const SegmentScope& scope, const Schema& schema,
                     const std::vector<PartitionOutput>& outputs, const ArtifactSummary& summary);

/// Copies `object` from `from` to `to` under the same name; both may share storage. An object of the right
/// size in `to` stays. kDataLoss: in `from` the object has another size than `object` says.
Status CopyObject(Store& from, Store& to, const StoredObject& object, std::stop_token stop);

/// Copies the artifact at `from`, which has the wanted bytes, to `out`, the location of the segment:
/// shards, the objects that describe them, the manifest, and the objects after it. Existing objects of the
/// right size stay.
Status CopyArtifact(const SegmentScope& scope, Store& from, Store& out, std::stop_token stop);

}  // namespace pipeline
