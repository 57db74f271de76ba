#include "dag/run/publisher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/commit_point.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/keys.h"
#include "dag/location/own_objects.h"
#include "dag/location/publishing.h"
#include "dag/run/committer_thread.h"
#include "dag/run/cpu_watch.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

std::string ShardUnitOf(const SegmentScope& scope, const Shard& shard) {
  return ToString(UnitId{scope.planned->keys.stage, ShardId{shard.split, shard.number, shard.count}});
}

StoredObject Stored(const Sidecar& sidecar) {
  return {sidecar.object, sidecar.bytes.size(), Crc32c(sidecar.bytes), DigestOf(sidecar.bytes)};
}

/// Returns the output of `shard` according to `line`. Absent: `line` names other objects, or one of them does
/// not exist.
std::optional<ShardOutput> ExistingShard(const Shard& shard, const UnitLine& line,
                                         const std::map<std::string, ObjectInfo>& there) {
  const auto lies_there = [&there](const StoredObject& object) {
    const auto found = there.find(object.name);
    return found != there.end() && object.IsAt(found->second);
  };
  const std::size_t objects = shard.index.empty() ? 1 : 2;
  if (line.objects.size() != objects || !std::all_of(line.objects.begin(), line.objects.end(), lies_there) ||
      line.objects.front().name != shard.object)
    return std::nullopt;
  ShardOutput output = {line.objects.front(), line.records};
  output.sums = line.sums;
  if (objects == 1) return output;
  if (line.objects.back().name != shard.index) return std::nullopt;
  output.index = line.objects.back();
  return output;
}

/// Writes the object, unless the store can tell that it has these bytes already.
Status Put(Store& store, std::string_view name, std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, store.Stat(name));
  const Condition condition = there ? Condition::ReplaceUnlessSame(there->version) : Condition::CreateOnly();
  return WriteObject(store, name, bytes, condition).status();
}

/// Returns whether the condition of a write did not hold.
bool MetAnother(const Status& written) {
  return (written.code() == Code::kAlreadyExists || written.code() == Code::kFailedPrecondition) &&
         written.Detail<LostLease>() == nullptr;
}

/// Halves the largest groups until there are `count`, or each has one shard.
void Divide(std::vector<std::vector<std::size_t>>& groups, std::size_t count) {
  while (!groups.empty() && groups.size() < count) {
    const auto largest = std::max_element(groups.begin(), groups.end(),
                                          [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (largest->size() < 2) return;
    const auto middle = largest->begin() + static_cast<std::ptrdiff_t>((largest->size() + 1) / 2);
    std::vector<std::size_t> second(middle, largest->end());
    largest->erase(middle, largest->end());
    groups.insert(largest + 1, std::move(second));
  }
}

Status ConfirmLocation(const SegmentScope& scope, std::stop_token stop) {
  return scope.confirm ? scope.confirm(std::move(stop)) : Status();
}

}  // namespace

Publisher::Publisher(const SegmentScope& scope, Store& out) : scope_(scope), out_(out) {}
Publisher::~Publisher() = default;

std::string Publisher::UnitOf(std::size_t group) const {
  return ShardUnitOf(scope_, publication_->shards()[groups_[group].front()]);
}

std::size_t Publisher::shards() const { return publication_->shards().size(); }

std::size_t Publisher::existing_shards() const {
  const Lock lock(mutex_);
  return existing_;
}

double Publisher::growth() const { return publication_->growth(); }

double Publisher::ShareOf(std::size_t group, const Splits& splits) const {
  std::uint64_t all = 0;
  for (const auto& [split, text] : splits) all += text.bytes;
  double bytes = 0;
  for (const std::size_t at : groups_[group]) {
    const Shard& shard = publication_->shards()[at];
    if (const auto text = splits.find(shard.split); text != splits.end())
      bytes += static_cast<double>(text->second.bytes) / shard.count;
  }
  return all == 0 ? 0 : bytes / static_cast<double>(all);
}

Status Publisher::Begin(const std::vector<PartitionOutput>& outputs, std::uint64_t memory_bytes,
                        int writers) {
  ASSIGN_OR_RETURN(publication_, scope_.assembly.sink->Plan(*scope_.directory, outputs));
  const ExecutionMode mode = scope_.options->mode;
  // In other modes another process may write there, on a machine whose processes look dead from here.
  if (mode == ExecutionMode::kAll) RETURN_IF_ERROR(out_.Sweep(""));
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> there, out_.List(""));
  ASSIGN_OR_RETURN(names_, LocationNames::Read(out_, there));
  if (mode == ExecutionMode::kOneUnit) {
    // The process that planned the shards has listed the other names.
    RETURN_IF_ERROR(names_->Add(PlannedNames()));
  } else {
    RETURN_IF_ERROR(CheckNotPublished(scope_.publishing(), out_, {}));
    RETURN_IF_ERROR(ConfirmLocation(scope_, {}));
    RETURN_IF_ERROR(ListNames(scope_.publishing(), out_, there, PlannedNames(), *names_, {}));
    if (scope_.planned->replaces) RETURN_IF_ERROR(Withdraw());
    RETURN_IF_ERROR(WriteMarker(scope_.publishing(), out_));
    if (scope_.planned->replaces) {
      ASSIGN_OR_RETURN(there, out_.List(""));
    }
  }
  ASSIGN_OR_RETURN(const std::optional<PublicationMarker> marker, ReadMarker(out_));
  others_wrote_ = marker && marker->others;
  if (mode == ExecutionMode::kOneUnit && marker && marker->recipe != scope_.planned->recipe().ToHex())
    return Status(Code::kFailedPrecondition,
                  StrCat(scope_.planned->location, ": another run has begun to publish there; plan again"));

  const Lock lock(mutex_);
  for (const ObjectInfo& object : there) there_.emplace(object.name, object);
  const std::vector<Shard>& shards = publication_->shards();
  outputs_.resize(shards.size());
  exists_.resize(shards.size());
  if (IsRemote(scope_.planned->location))
    location_log_ = std::make_unique<LocationLog>(out_, ToJson(scope_.planned->lineage).Dump());
  for (std::size_t at = 0; at < shards.size(); ++at) {
    const UnitLine* line = scope_.environment->log->FindDone(ShardUnitOf(scope_, shards[at]));
    if (line == nullptr || line->location != scope_.planned->location) continue;
    ASSIGN_OR_RETURN(const bool exists, NoteExisting(at, *line));
    if (!exists) continue;
    // Withdraw() may have removed its line together with the log of the replaced artifact.
    if (location_log_ && scope_.planned->replaces) RETURN_IF_ERROR(location_log_->Add(*line, {}));
  }
  if (location_log_) {
    RETURN_IF_ERROR(ReuseFromLocation(there));
    RETURN_IF_ERROR(location_log_->Flush({}));
  }
  RETURN_IF_ERROR(CheckRoom(outputs));
  for (std::vector<std::size_t>& group : publication_->Groups(memory_bytes))
    if (std::any_of(group.begin(), group.end(),
                    [this](std::size_t shard) REQUIRES(mutex_) { return !exists_[shard]; }))
      groups_.push_back(std::move(group));
  Divide(groups_, static_cast<std::size_t>(writers));
  return {};
}

void Publisher::NoteOutput(std::size_t shard, ShardOutput output) {
  outputs_[shard] = std::move(output);
  if (!exists_[shard]) ++existing_;
  exists_[shard] = true;
}

Result<bool> Publisher::NoteExisting(std::size_t shard, const UnitLine& line) {
  const Shard& wanted = publication_->shards()[shard];
  if (scope_.planned->forced || (line.recipe != ShardRecipe(scope_.planned->recipe(), wanted) &&
                                 line.content != ShardContent(scope_.content_stage, wanted)))
    return false;
  std::optional<ShardOutput> output = ExistingShard(wanted, line, there_);
  if (!output) return false;
  // An object of another writer may have the same size, so its bytes are compared.
  for (const StoredObject& object : line.objects) {
    if (!others_wrote_) break;
    ASSIGN_OR_RETURN(const bool holds, HoldsBytes(out_, object, {}));
    if (!holds) return false;
  }
  NoteOutput(shard, std::move(*output));
  return true;
}

Status Publisher::ReuseFromLocation(const std::vector<ObjectInfo>& there) {
  std::map<std::string, std::size_t> missing;  // by unit
  for (std::size_t at = 0; at < exists_.size(); ++at)
    if (!exists_[at]) missing.emplace(ShardUnitOf(scope_, publication_->shards()[at]), at);
  if (missing.empty()) return {};
  ASSIGN_OR_RETURN(std::vector<UnitLine> lines, ReadLocationLog(out_, there));
  for (UnitLine& line : lines) {
    const auto found = missing.find(line.unit);
    if (found == missing.end()) continue;
    ASSIGN_OR_RETURN(const bool exists, NoteExisting(found->second, line));
    if (!exists) continue;
    missing.erase(found);
    line.segment = scope_.log_segment;
    line.location = scope_.planned->location;
    RETURN_IF_ERROR(scope_.environment->log->Append(line));
  }
  return {};
}

std::vector<std::string> Publisher::PlannedNames() const {
  std::vector<std::string> names;
  for (const Shard& shard : publication_->shards()) {
    names.push_back(shard.object);
    if (!shard.index.empty()) names.push_back(shard.index);
  }
  return names;
}

/// Fails before any shard is written if the disk has too little room for the missing ones.
Status Publisher::CheckRoom(const std::vector<PartitionOutput>& outputs) const {
  const auto missing = static_cast<std::size_t>(std::count(exists_.begin(), exists_.end(), false));
  if (missing == 0 || !scope_.environment->location_free_bytes) return {};
  ASSIGN_OR_RETURN(const std::optional<std::uint64_t> free,
                   scope_.environment->location_free_bytes(scope_.planned->location));
  std::uint64_t bytes = 0;
  for (const PartitionOutput& output : outputs)
    for (const auto& [split, total] : output.splits) bytes += total.bytes;
  const auto need =
      static_cast<std::uint64_t>(static_cast<double>(bytes) * publication_->growth() *
                                 static_cast<double>(missing) / static_cast<double>(exists_.size()));
  if (!free || *free >= need) return {};
  return Status(Code::kResourceExhausted,
                StrCat(scope_.planned->location, ": the disk has ", HumanBytes(*free), " left and ", missing,
                       " shards need about ", HumanBytes(need),
                       "; free some space and run again, or name another `out`"));
}

/// Removes the objects that say that the artifact is complete, the last committed one first. If the artifact
/// is the same one and only lacks an object, they stay, because the run writes the same ones again.
Status Publisher::Withdraw() {
  const Result<Manifest> manifest = ReadManifest(out_, scope_.planned->location);
  if (manifest.ok() && manifest->recipe() == scope_.planned->recipe() && !scope_.planned->forced) return {};
  if (manifest.ok())
    for (const StoredObject& follower : manifest->followers) RETURN_IF_ERROR(out_.Remove(follower.name));
  // The manifest is damaged: nobody knows which objects others take for the sign of completeness.
  if (!manifest.ok() && manifest.status().code() != Code::kNotFound) {
    const std::vector<std::string> planned = PlannedNames();
    RETURN_IF_ERROR(names_->RemoveOthers({planned.begin(), planned.end()}, [](std::string_view) {}));
  }
  RETURN_IF_ERROR(out_.Remove(kManifestName));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> logs, out_.List(kLocationLogPrefix));
  return out_.RemoveAll(logs, [] { return true; });
}

Condition Publisher::ConditionFor(const std::string& object) const {
  const Lock lock(mutex_);
  const auto found = there_.find(object);
  return found == there_.end() ? Condition::CreateOnly()
                               : Condition::ReplaceUnlessSame(found->second.version);
}

Status Publisher::Log(std::size_t shard, const ShardOutput& output, const std::stop_token& stop) {
  PassCommitPoint("shard.committed");
  const Shard& made = publication_->shards()[shard];
  UnitLine line;
  line.state = UnitState::kDone;
  line.unit = ShardUnitOf(scope_, made);
  line.segment = scope_.log_segment;
  line.recipe = ShardRecipe(scope_.planned->recipe(), made);
  line.content = ShardContent(scope_.content_stage, made);
  line.digest = output.object.digest;
  line.objects = {output.object};
  if (output.index) line.objects.push_back(*output.index);
  line.sums = output.sums;
  line.location = scope_.planned->location;
  line.records = output.records;
  RETURN_IF_ERROR(scope_.environment->log->Append(line));
  PassCommitPoint("shard.logged");
  if (location_log_) RETURN_IF_ERROR(location_log_->Add(line, stop));
  scope_.environment->progress->Logged(line.unit, output.records, output.object.bytes);
  {
    const Lock lock(mutex_);
    NoteOutput(shard, output);
  }
  scope_.environment->progress->Advanced(scope_.planned->keys.stage, existing_shards(), shards());
  return {};
}

std::vector<std::size_t> Publisher::MissingShards(std::size_t group) const {
  const Lock lock(mutex_);
  std::vector<std::size_t> missing;
  for (const std::size_t shard : groups_[group])
    if (!exists_[shard]) missing.push_back(shard);
  return missing;
}

Status Publisher::WriteShards(std::size_t group, SegmentProgress& counters, std::uint64_t memory_bytes,
                              const std::stop_token& stop) {
  using Written = std::pair<std::size_t, std::unique_ptr<UncommittedShard>>;
  const std::vector<std::size_t> missing = MissingShards(group);
  CommitterThread<Written> committer(
      [&](Written written) -> Status {
        ASSIGN_OR_RETURN(const ShardOutput output, written.second->Commit(stop));
        counters.records.fetch_add(output.records, std::memory_order_relaxed);
        return Log(written.first, output, stop);
      },
      1);
  const std::unique_ptr<GroupWriter> writer = publication_->OpenGroup({missing, &out_, memory_bytes, stop});
  for (const std::size_t shard : missing) {
    const Shard& wanted = publication_->shards()[shard];
    ASSIGN_OR_RETURN(std::unique_ptr<UncommittedShard> written,
                     writer->WriteNext({ConditionFor(wanted.object), ConditionFor(wanted.index)}));
    RETURN_IF_ERROR(committer.Add({shard, std::move(written)}));
  }
  return committer.Finish();
}

Status Publisher::RunGroup(std::size_t group, std::uint64_t memory_bytes, std::stop_token stop) {
  const std::vector<std::size_t> missing = MissingShards(group);
  if (missing.empty()) return {};
  // The unit has the name of the first shard that is written, because a group has no lasting name.
  const auto running =
      std::make_shared<RunningUnit>(ShardUnitOf(scope_, publication_->shards()[missing.front()]),
                                    std::vector<std::string>{scope_.planned->keys.stage}, 0);
  Progress& progress = *scope_.environment->progress;
  progress.Started(running);
  Status outcome;
  do {
    const CpuWatch watch(running->counters.cpu_ns);
    outcome = WriteShards(group, running->counters, memory_bytes, stop);
  } while (MetAnother(outcome) && LearnsOfOthers(group, outcome, stop));
  // A group may be one small shard, and a segment of the log has the whole lineage.
  const bool writes_all =
      !outcome.ok() || stop.stop_requested() || scope_.options->mode != ExecutionMode::kAll;
  if (location_log_ && writes_all) {
    Status kept = location_log_->Flush(stop);
    if (outcome.ok()) outcome = std::move(kept);
  } else if (location_log_) {
    outcome = location_log_->WriteOld(stop);
  }
  progress.Finished(running->unit, outcome);
  return outcome;
}

bool Publisher::LearnsOfOthers(std::size_t group, Status& outcome, const std::stop_token& stop) {
  if (!scope_.confirm) return false;
  if (Status ours = scope_.confirm(stop); !ours.ok()) {
    outcome = std::move(ours);
    return false;
  }
  bool learned = false;
  for (const std::size_t at : groups_[group]) {
    const Shard& shard = publication_->shards()[at];
    for (const std::string& name : {shard.object, shard.index}) {
      if (name.empty()) continue;
      const Result<std::optional<ObjectInfo>> now = out_.Stat(name);
      if (!now.ok() || !*now) continue;
      const Lock lock(mutex_);
      if (exists_[at]) break;
      const auto known = there_.find(name);
      if (known != there_.end() && known->second.version == (*now)->version) continue;
      if (!learned_.insert(name).second) return false;  // twice: the other writer is not one that was late
      there_.insert_or_assign(name, **now);
      learned = true;
    }
  }
  return learned;
}

Status Publisher::Finish(const ArtifactSummary& summary, const Schema& schema) {
  const Lock lock(mutex_);  // no group runs any more
  if (location_log_) RETURN_IF_ERROR(location_log_->Flush({}));
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
  for (const ShardOutput& output : outputs_)
    if (output.index) manifest.sidecars.push_back(*output.index);
  for (const Sidecar& sidecar : sidecars.before_manifest) manifest.sidecars.push_back(Stored(sidecar));
  for (const Sidecar& sidecar : sidecars.after_manifest) manifest.followers.push_back(Stored(sidecar));

  RETURN_IF_ERROR(ConfirmLocation(scope_, {}));
  RETURN_IF_ERROR(RemoveLeftovers(scope_.publishing(), out_, manifest, *names_, {}));
  for (const Sidecar& sidecar : sidecars.before_manifest)
    RETURN_IF_ERROR(Put(out_, sidecar.object, sidecar.bytes));
  PassCommitPoint("sidecars.committed");
  RETURN_IF_ERROR(ConfirmLocation(scope_, {}));
  RETURN_IF_ERROR(CommitManifest(scope_.publishing(), out_, manifest, {}));
  PassCommitPoint("manifest.committed");
  for (const Sidecar& sidecar : sidecars.after_manifest)
    RETURN_IF_ERROR(Put(out_, sidecar.object, sidecar.bytes));
  PassCommitPoint("artifact.published");
  return ConfirmLocation(scope_, {});
}

Status FinishOutputs(const SegmentScope& scope, const Schema& schema,
                     const std::vector<PartitionOutput>& outputs, const ArtifactSummary& summary) {
  Manifest manifest;
  manifest.lineage = scope.planned->lineage;
  manifest.schema = schema;
  manifest.splits = summary.splits;
  manifest.counts = summary.counts;
  manifest.partitions = outputs;
  return WriteObject(*scope.directory, kManifestName, EncodeManifest(manifest), Condition::ReplaceAny())
      .status();
}

Status CopyObject(Store& from, Store& to, const StoredObject& object, std::stop_token stop) {
  if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
  ASSIGN_OR_RETURN(const bool holds, HoldsBytes(to, object, stop));
  if (holds) return {};
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, to.Stat(object.name));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, from.Open(object.name));
  if (file->size() != object.bytes)
    return Status(Code::kDataLoss,
                  StrCat(object.name, ": ", file->size(), " bytes where ", object.bytes, " were written"));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ObjectWriter> writer,
      to.Create(object.name, there ? Condition::ReplaceUnlessSame(there->version) : Condition::CreateOnly()));
  RETURN_IF_ERROR(writer->AppendFile(*file, stop));
  return writer->Commit(std::move(stop)).status();
}

Status CopyArtifact(const SegmentScope& scope, Store& from, Store& out, std::stop_token stop) {
  ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(from, scope.planned->copy_from, stop));
  manifest.sealed = true;
  if (scope.options->mode == ExecutionMode::kAll) RETURN_IF_ERROR(out.Sweep(""));
  RETURN_IF_ERROR(CheckNotPublished(scope.publishing(), out, stop));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> there, out.List(""));
  ASSIGN_OR_RETURN(const std::unique_ptr<LocationNames> names, LocationNames::Read(out, there, stop));
  RETURN_IF_ERROR(ListNames(scope.publishing(), out, there, NamesIn(manifest), *names, stop));
  RETURN_IF_ERROR(WriteMarker(scope.publishing(), out));
  const auto copy = [&](const StoredObject& object) -> Status {
    Status copied = CopyObject(from, out, object, stop);
    if (!MetAnother(copied) || !scope.confirm) return copied;
    // The object that appeared meanwhile was written by a run that had lost the location.
    RETURN_IF_ERROR(scope.confirm(stop));
    return CopyObject(from, out, object, stop);
  };
  for (const ManifestShard& shard : manifest.shards) RETURN_IF_ERROR(copy(shard.object));
  for (const StoredObject& sidecar : manifest.sidecars) RETURN_IF_ERROR(copy(sidecar));
  RETURN_IF_ERROR(ConfirmLocation(scope, stop));
  RETURN_IF_ERROR(RemoveLeftovers(scope.publishing(), out, manifest, *names, stop));
  PassCommitPoint("sidecars.committed");
  RETURN_IF_ERROR(ConfirmLocation(scope, stop));
  RETURN_IF_ERROR(CommitManifest(scope.publishing(), out, manifest, stop));
  PassCommitPoint("manifest.committed");
  for (const StoredObject& follower : manifest.followers) RETURN_IF_ERROR(copy(follower));
  PassCommitPoint("artifact.published");
  return ConfirmLocation(scope, stop);
}

}  // namespace pipeline
