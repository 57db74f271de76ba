#include "dag/publisher.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/commit_point.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "base/str.h"
#include "dag/keys.h"
#include "dag/unit_id.h"

namespace pipeline {

namespace {

const LineageStage& LastOf(const PlannedSegment& planned) { return planned.lineage.back(); }

std::string ShardUnitOf(const SegmentScope& scope, const Shard& shard) {
  return ToString(UnitId{scope.planned->keys.stage, ShardId{shard.split, shard.number, shard.count}});
}

StoredObject Stored(const Sidecar& sidecar) {
  return {sidecar.object, sidecar.bytes.size(), Crc32c(sidecar.bytes), DigestOf(sidecar.bytes)};
}

Status Replace(Store& store, std::string_view name, std::string_view bytes) {
  return WriteObject(store, name, bytes, Condition::ReplaceAny()).status();
}

}  // namespace

Status LayClaim(const SegmentScope& scope, Store& out) {
  Json claim;
  claim["stage"] = scope.planned->keys.stage;
  claim["recipe"] = scope.planned->recipe().ToHex();
  return Replace(out, kClaimName, claim.DumpPretty());
}

Publisher::Publisher(const SegmentScope& scope, Store& out) : scope_(scope), out_(out) {}
Publisher::~Publisher() = default;

std::size_t Publisher::shards() const { return publication_->shards().size(); }

std::size_t Publisher::standing() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(std::count(stands_.begin(), stands_.end(), true));
}

Status Publisher::Begin(const std::vector<Piece>& pieces, std::uint64_t memory_bytes) {
  ASSIGN_OR_RETURN(publication_, scope_.assembly.sink->Plan(*scope_.directory, pieces));
  RETURN_IF_ERROR(out_.Sweep(""));
  if (scope_.planned->replaces) RETURN_IF_ERROR(Withdraw());
  RETURN_IF_ERROR(LayClaim(scope_, out_));

  std::map<std::string, std::uint64_t> sizes;
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> there, out_.List(""));
  for (const ObjectInfo& object : there) {
    sizes.emplace(object.name, object.size);
    versions_.emplace(object.name, object.version);
  }
  const std::vector<Shard>& shards = publication_->shards();
  outputs_.resize(shards.size());
  stands_.resize(shards.size());
  for (std::size_t at = 0; at < shards.size(); ++at) {
    const UnitLine* line = scope_.environment->log->FindDone(ShardUnitOf(scope_, shards[at]));
    if (line == nullptr || scope_.planned->forced || line->place != scope_.planned->place ||
        line->objects.size() != 1)
      continue;
    if (line->recipe != ShardRecipe(scope_.planned->recipe(), shards[at]) &&
        line->content != ShardContent(LastOf(*scope_.planned), shards[at]))
      continue;
    const StoredObject& object = line->objects.front();
    const auto size = sizes.find(object.name);
    if (object.name != shards[at].object || size == sizes.end() || size->second != object.bytes) continue;
    outputs_[at] = {object, line->records};
    stands_[at] = true;
  }
  for (std::vector<std::size_t>& group : publication_->Groups(memory_bytes))
    if (std::any_of(group.begin(), group.end(), [this](std::size_t shard) { return !stands_[shard]; }))
      groups_.push_back(std::move(group));
  return {};
}

/// Takes away what says that the artifact is there, the last committed first.
Status Publisher::Withdraw() {
  const Result<Manifest> manifest = ReadManifest(out_, scope_.planned->place);
  if (manifest.ok())
    for (const StoredObject& follower : manifest->followers) RETURN_IF_ERROR(out_.Remove(follower.name));
  return out_.Remove(kManifestName);
}

Condition Publisher::ConditionFor(const std::string& object) const {
  const auto found = versions_.find(object);
  return found == versions_.end() ? Condition::CreateOnly() : Condition::Replace(found->second);
}

Status Publisher::Log(std::size_t shard, const ShardOutput& output) {
  PassCommitPoint("shard.committed");
  const Shard& made = publication_->shards()[shard];
  UnitLine line;
  line.state = UnitState::kDone;
  line.unit = ShardUnitOf(scope_, made);
  line.segment = scope_.log_segment;
  line.recipe = ShardRecipe(scope_.planned->recipe(), made);
  line.content = ShardContent(LastOf(*scope_.planned), made);
  line.digest = output.object.digest;
  line.objects = {output.object};
  line.place = scope_.planned->place;
  line.records = output.records;
  RETURN_IF_ERROR(scope_.environment->log->Append(line));
  PassCommitPoint("shard.logged");
  scope_.environment->progress->Logged(line.unit, output.records, output.object.bytes);
  const std::scoped_lock lock(mutex_);
  outputs_[shard] = output;
  stands_[shard] = true;
  return {};
}

Status Publisher::RunGroup(std::size_t group, std::uint64_t memory_bytes, std::stop_token stop) {
  const auto wanted = [this](std::size_t shard) {
    const std::scoped_lock lock(mutex_);
    return !stands_[shard];
  };
  // Known by the first shard that is written: the group as such has no name that lasts.
  const auto first = std::find_if(groups_[group].begin(), groups_[group].end(), wanted);
  if (first == groups_[group].end()) return {};
  const auto running = std::make_shared<RunningUnit>(ShardUnitOf(scope_, publication_->shards()[*first]),
                                                     std::vector<std::string>{scope_.planned->keys.stage}, 0);
  const auto committed = [&](std::size_t shard, const ShardOutput& output) {
    running->counters.records.fetch_add(output.records, std::memory_order_relaxed);
    return Log(shard, output);
  };
  Progress& progress = *scope_.environment->progress;
  progress.Started(running);
  const Status outcome = publication_->Run(
      groups_[group], wanted, [this](const std::string& object) { return ConditionFor(object); }, out_,
      committed, memory_bytes, std::move(stop));
  progress.Finished(running->unit, outcome);
  return outcome;
}

Status Publisher::RemoveStrays(const Manifest& manifest) const {
  std::set<std::string_view> known = {kManifestName, kClaimName};
  for (const ManifestShard& shard : manifest.shards) known.insert(shard.object.name);
  for (const StoredObject& sidecar : manifest.sidecars) known.insert(sidecar.name);
  for (const StoredObject& follower : manifest.followers) known.insert(follower.name);
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> there, out_.List(""));
  for (const ObjectInfo& object : there) {
    if (known.contains(object.name)) continue;
    scope_.environment->progress->Note(StrCat("removed ", scope_.planned->place, "/", object.name,
                                              ": left there by an earlier run, not part of the artifact"));
    RETURN_IF_ERROR(out_.Remove(object.name));
  }
  return {};
}

Status Publisher::Finish(const ArtifactSummary& summary, const Schema& schema) {
  ASSIGN_OR_RETURN(const Sidecars sidecars, publication_->Describe(outputs_));
  Manifest manifest;
  manifest.lineage = scope_.planned->lineage;
  manifest.schema = schema;
  manifest.splits = summary.splits;
  manifest.counts = summary.counts;
  for (std::size_t at = 0; at < outputs_.size(); ++at) {
    const Shard& shard = publication_->shards()[at];
    manifest.shards.push_back(
        {shard.split, shard.number, shard.count, outputs_[at].records, outputs_[at].object});
  }
  for (const Sidecar& sidecar : sidecars.before_manifest) manifest.sidecars.push_back(Stored(sidecar));
  for (const Sidecar& sidecar : sidecars.after_manifest) manifest.followers.push_back(Stored(sidecar));

  RETURN_IF_ERROR(RemoveStrays(manifest));
  for (const Sidecar& sidecar : sidecars.before_manifest)
    RETURN_IF_ERROR(Replace(out_, sidecar.object, sidecar.bytes));
  PassCommitPoint("sidecars.committed");
  RETURN_IF_ERROR(Replace(out_, kManifestName, EncodeManifest(manifest)));
  PassCommitPoint("manifest.committed");
  for (const Sidecar& sidecar : sidecars.after_manifest)
    RETURN_IF_ERROR(Replace(out_, sidecar.object, sidecar.bytes));
  PassCommitPoint("artifact.published");
  return {};
}

Status FinishPieces(const SegmentScope& scope, const Schema& schema, const std::vector<Piece>& pieces,
                    const ArtifactSummary& summary) {
  Manifest manifest;
  manifest.lineage = scope.planned->lineage;
  manifest.schema = schema;
  manifest.splits = summary.splits;
  manifest.counts = summary.counts;
  manifest.partitions = pieces;
  return Replace(*scope.directory, kManifestName, EncodeManifest(manifest));
}

}  // namespace pipeline
