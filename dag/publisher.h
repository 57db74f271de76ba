// The second pass of a segment: shards at their place, then what describes them, the manifest last.
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
#include "dag/artifact_summary.h"
#include "dag/manifest.h"
#include "dag/place/place_names.h"
#include "dag/place_log.h"
#include "dag/segment_unit.h"
#include "spec/graph.h"

namespace pipeline {

/// One segment's publication in one run. Groups may run at the same time; the rest one at a time.
class Publisher {
 public:
  /// `out` is rooted at the place. Both outlive the publisher.
  Publisher(const SegmentScope& scope, Store& out);
  ~Publisher();

  /// Plans the shards from `pieces`, finds those that stand, clears the way for the others: a claim is
  /// laid down, and with `replaces` the manifest is taken away first.
  Status Begin(const std::vector<Piece>& pieces, std::uint64_t memory_bytes);

  /// Groups that hold a shard which does not stand.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }
  /// What a group is called among units: its first shard.
  std::string UnitOf(std::size_t group) const;
  std::size_t shards() const;
  std::size_t standing() const EXCLUDES(mutex_);

  /// Writes and logs the missing shards of a group. kDataLoss begins with the name of the piece's
  /// object that is damaged.
  Status RunGroup(std::size_t group, std::uint64_t memory_bytes, std::stop_token stop);

  /// Describes the whole, removes strays, commits the manifest. `pieces` were judged before.
  Status Finish(const ArtifactSummary& summary, const Schema& schema);

 private:
  Status CheckRoom(const std::vector<Piece>& pieces) const REQUIRES(mutex_);
  Status Withdraw();
  /// The shards and their indexes.
  std::vector<std::string> PlannedNames() const;
  /// Whether `shard` stands by what `line` says of it; then its output is known.
  Result<bool> Stands(std::size_t shard, const UnitLine& line) REQUIRES(mutex_);
  /// The same for the shards that do not, by the lines that lie at the place.
  Status AdoptFromPlace(const std::vector<ObjectInfo>& there) REQUIRES(mutex_);
  Condition ConditionFor(const std::string& object) const;
  /// Whether a group that met another object at the name of a shard can go on and replace it: this run holds
  /// the place, and whoever wrote it does not. `outcome` is the failure otherwise.
  bool LearnsOfOthers(std::size_t group, Status& outcome, const std::stop_token& stop);
  Status Log(std::size_t shard, const ShardOutput& output, const std::stop_token& stop);

  const SegmentScope& scope_;
  Store& out_;
  std::unique_ptr<Publication> publication_;
  std::unique_ptr<PlaceNames> names_;
  std::vector<std::vector<std::size_t>> groups_;
  std::unique_ptr<PlaceLog> place_log_;  // null where the place is on this machine
  bool others_wrote_ = false;            // what has the right size may be another's

  mutable Mutex mutex_;
  std::map<std::string, ObjectInfo> there_
      GUARDED_BY(mutex_);  // by name; what lay at the place when we began, or was met later
  std::set<std::string> learned_ GUARDED_BY(mutex_);     // names of those that were met later
  std::vector<ShardOutput> outputs_ GUARDED_BY(mutex_);  // by shard
  std::vector<bool> stands_ GUARDED_BY(mutex_);
};

/// The manifest of an artifact that is kept in the work directory: its pieces are all there is.
Status FinishPieces(const SegmentScope& scope, const Schema& schema, const std::vector<Piece>& pieces,
                    const ArtifactSummary& summary);

/// Makes `object` of `from` stand in `to` under the same name; may share its storage. What is there
/// with the right size stays. kDataLoss where `from` holds another size than `object` says.
Status CopyObject(Store& from, Store& to, const StoredObject& object, std::stop_token stop);

/// The same bytes wanted at another place: makes the artifact at `from` stand at `out`, the place of the
/// segment. Shards, then what describes them, the manifest, and what follows it; what is there already with
/// the right size stays.
Status CopyArtifact(const SegmentScope& scope, Store& from, Store& out, std::stop_token stop);

}  // namespace pipeline
