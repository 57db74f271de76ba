#include "dag/run/job_unit.h"

#include <atomic>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "base/child_ledger.h"
#include "base/commit_point.h"
#include "base/json.h"
#include "base/str.h"
#include "dag/books/manifest.h"
#include "dag/books/unit_id.h"
#include "dag/keys.h"
#include "dag/location/location_names.h"
#include "dag/location/own_objects.h"
#include "dag/location/publishing.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/run/artifact_summary.h"
#include "dag/run/cpu_watch.h"
#include "dag/run/publisher.h"

namespace pipeline {

namespace {

/// The records that a Job reads.
struct JobRecords {
  Store* directory = nullptr;            // has the partition files
  std::vector<PartitionOutput> outputs;  // sorted by id
  const Schema* schema = nullptr;
  ArtifactTotals totals;
};

/// All partition outputs one after the other, as one Source. Notes which of them is damaged.
class AllOutputs final : public Source {
 public:
  AllOutputs(const SegmentScope& scope, const JobRecords& records, std::shared_ptr<RunningUnit> unit,
             std::optional<PartitionId>& damaged, std::stop_token stop)
      : scope_(scope), records_(records), unit_(std::move(unit)), damaged_(damaged), stop_(std::move(stop)) {}

  Result<bool> Next(Batch& batch) override {
    while (true) {
      if (!source_) {
        if (next_ == records_.outputs.size()) return false;
        const PartitionOutput& output = records_.outputs[next_++];
        Result<std::unique_ptr<Source>> opened = scope_.environment->intermediate->Open(
            *records_.directory, output, *records_.schema, scope_.options->batch_bytes, stop_);
        if (!opened.ok()) return Damage(std::move(opened).status());
        source_ = std::move(*opened);
      }
      batch.Clear(1);
      Result<bool> more = source_->Next(batch);
      if (!more.ok()) return Damage(std::move(more).status());
      unit_->counters.records.fetch_add(batch.size(), std::memory_order_relaxed);
      unit_->counters.text_bytes.fetch_add(batch.text.bytes(), std::memory_order_relaxed);
      if (*more) return true;
      unit_->input_read.fetch_add(BytesOf(records_.outputs[next_ - 1].committed.objects),
                                  std::memory_order_relaxed);
      source_.reset();
    }
  }
  std::optional<InputEnd> End() const override { return std::nullopt; }

 private:
  Status Damage(Status why) {
    if (const std::optional<PartitionId> output = DamagedOutput(why)) damaged_ = output;
    return why;
  }

  const SegmentScope& scope_;
  const JobRecords& records_;
  const std::shared_ptr<RunningUnit> unit_;
  std::optional<PartitionId>& damaged_;
  const std::stop_token stop_;
  std::size_t next_ = 0;
  std::unique_ptr<Source> source_;
};

class JobRun {
 public:
  /// `withdraws`: JobKind::withdraws.
  JobRun(const SegmentScope& scope, Store& out, const JobRecords* records, std::optional<Digest> input,
         bool withdraws, std::stop_token stop)
      : scope_(scope),
        planned_(*scope.planned),
        withdraws_(withdraws),
        out_(out),
        records_(records),
        unit_(ToString(UnitId{planned_.keys.stage, JobId{}})),
        content_(RecipeOf(scope.content_stage, input)),
        stop_(std::move(stop)) {}

  Status Run(std::optional<PartitionId>& damaged) {
    if (scope_.options->mode == ExecutionMode::kAll) RETURN_IF_ERROR(out_.Sweep(""));
    ASSIGN_OR_RETURN(const bool reused, Reuse());
    if (reused) return {};
    RETURN_IF_ERROR(JobCall::CheckMemory(scope_, records_ == nullptr ? ArtifactTotals() : records_->totals));
    RETURN_IF_ERROR(ClearTheWay());
    if (!withdraws_) RETURN_IF_ERROR(Withdraw());
    ASSIGN_OR_RETURN(JobOutput output, RunStage(damaged));
    RETURN_IF_ERROR(Withdraw());
    PassCommitPoint("sidecars.committed");
    UnitLine line;
    line.state = UnitState::kDone;
    line.unit = unit_;
    line.segment = scope_.log_segment;
    line.recipe = planned_.recipe();
    line.content = content_;
    line.objects = std::move(output.objects);
    line.location = planned_.location;
    line.continues = planned_.continues;
    line.facts = output.facts.is_null() ? std::string() : output.facts.Dump();
    return Finish(line);
  }

 private:
  /// Reuses the objects of an earlier run that have the recipe or the content key of this run. False: there
  /// are none.
  Result<bool> Reuse() {
    const UnitLine* known = scope_.environment->log->FindDone(unit_);
    if (known == nullptr || planned_.forced || known->location.empty() ||
        known->continues != planned_.continues ||
        (known->recipe != planned_.recipe() && known->content != content_))
      return false;
    UnitLine line = *known;
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> from, OpenLocation(*scope_.environment, line.location));
    for (const StoredObject& object : line.objects) {
      ASSIGN_OR_RETURN(const bool holds, HoldsBytes(*from, object, stop_));
      if (!holds) return false;
    }
    RETURN_IF_ERROR(ClearTheWay());
    RETURN_IF_ERROR(Withdraw());
    if (line.location != planned_.location)
      for (const StoredObject& object : line.objects)
        RETURN_IF_ERROR(CopyObject(*from, *listed_, object, stop_));
    line.segment = scope_.log_segment;
    line.recipe = planned_.recipe();
    line.content = content_;
    line.location = planned_.location;
    RETURN_IF_ERROR(Finish(line));
    return true;
  }

  /// Writes a marker. The names in the manifest of the artifact that is there enter the list before.
  Status ClearTheWay() {
    RETURN_IF_ERROR(CheckNotPublished(scope_.publishing(), out_, stop_));
    RETURN_IF_ERROR(Confirm());
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> there, out_.List(""));
    ASSIGN_OR_RETURN(names_, LocationNames::Read(out_, there, stop_));
    listed_ = ListedStore(out_, *names_);
    RETURN_IF_ERROR(ListNames(scope_.publishing(), out_, there, {}, *names_, stop_));
    return WriteMarker(scope_.publishing(), out_);
  }

  /// Removes the manifest, which would say that the artifact is complete.
  Status Withdraw() {
    if (!planned_.replaces || withdrawn_) return {};
    RETURN_IF_ERROR(Confirm());
    RETURN_IF_ERROR(out_.Remove(kManifestName));
    withdrawn_ = true;
    return {};
  }

  Result<JobOutput> RunStage(std::optional<PartitionId>& damaged) {
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> there, out_.List(""));
    std::map<std::string, std::string> versions;
    for (const ObjectInfo& object : there) versions.emplace(object.name, object.version);
    std::uint64_t bytes = 0;
    if (records_ != nullptr)
      for (const PartitionOutput& output : records_->outputs) bytes += BytesOf(output.committed.objects);
    JobCall call(scope_, unit_, bytes, stop_);
    RETURN_IF_ERROR(call.Begin());
    JobRequest request = call.Request();
    if (records_ != nullptr) {
      request.open_records = [&, running = call.running()]() -> Result<std::unique_ptr<Source>> {
        return std::make_unique<AllOutputs>(scope_, *records_, running, damaged, stop_);
      };
      request.input = records_->totals;
    }
    request.out = listed_.get();
    std::atomic<bool> writes = false;
    request.condition = [this, &versions, &writes](const std::string& object) {
      writes = true;
      const auto found = versions.find(object);
      if (const auto now = out_.Stat(object); scope_.confirm && now.ok() && *now) {
        const bool known = found != versions.end() && found->second == (*now)->version;
        // An object that appeared meanwhile was written by a run that had lost the location.
        if (!known && Confirm().ok()) return Condition::ReplaceUnlessSame((*now)->version);
      }
      // Somebody who puts the same bytes there meanwhile does no harm.
      return found == versions.end() ? Condition::CreateOnly() : Condition::ReplaceUnlessSame(found->second);
    };
    request.confirm = scope_.confirm;
    request.withdraw = [this] { return Withdraw(); };
    request.forced = planned_.forced;
    Result<JobOutput> output = call.Run(request);
    // No condition of an object has failed, so no other writer is the reason.
    const Status& why = output.status();
    if (why.code() == Code::kFailedPrecondition && !writes && why.Detail<LostLease>() == nullptr)
      return std::move(output).status().With(std::make_shared<StageRefused>());
    return output;
  }

  /// Writes the log line, then the manifest.
  Status Finish(const UnitLine& line) {
    RETURN_IF_ERROR(scope_.environment->log->Append(line));
    PassCommitPoint("shard.logged");
    scope_.environment->progress->Logged(unit_, 0, BytesOf(line.objects));
    Manifest manifest;
    manifest.lineage = planned_.lineage;
    manifest.sidecars = line.objects;
    if (!line.facts.empty()) {
      ASSIGN_OR_RETURN(manifest.facts, Json::Parse(line.facts));
    }
    if (!line.continues.empty()) {
      ASSIGN_OR_RETURN(manifest.continues, Json::Parse(line.continues));
    }
    // Removes only the objects that the replaced artifact had and this one has not: a Job may keep other
    // files there from one run to the next.
    const std::vector<std::string> objects = NamesIn(manifest);
    RETURN_IF_ERROR(names_->RemoveOthers(
        {objects.begin(), objects.end()}, [](std::string_view) {}, stop_));
    RETURN_IF_ERROR(Confirm());
    RETURN_IF_ERROR(CommitManifest(scope_.publishing(), out_, manifest, stop_));
    PassCommitPoint("manifest.committed");
    return Confirm();
  }

  Status Confirm() const { return scope_.confirm ? scope_.confirm(stop_) : Status(); }

  const SegmentScope& scope_;
  const PlannedSegment& planned_;
  const bool withdraws_;
  bool withdrawn_ = false;
  Store& out_;
  const JobRecords* const records_;
  const std::string unit_;
  const Digest content_;
  const std::stop_token stop_;
  std::unique_ptr<LocationNames> names_;  // null: before ClearTheWay(), like listed_
  std::unique_ptr<Store> listed_;         // out_; lists each new name first
};

}  // namespace

Status RunJobUnit(const Graph& graph, const SegmentState& state, std::vector<PartitionOutput> outputs,
                  std::stop_token stop) {
  std::optional<JobRecords> records;
  std::optional<Digest> input = state.artifact_input;
  if (const SegmentState* upstream = state.upstream) {
    ArtifactSummary summary = Summarize(*state.scope.environment->log, *upstream->planned, outputs);
    RETURN_IF_ERROR(CheckWhole(summary));
    records.emplace();
    records->directory = upstream->scope.directory.get();
    records->schema = &graph[upstream->planned->node].out;
    input = RecordsContent(ContentOf(outputs), *records->schema);
    records->totals = {std::move(summary.splits), std::move(summary.counts[upstream->name()])};
    records->outputs = std::move(outputs);
  }
  std::optional<PartitionId> damaged;
  const bool withdraws = graph[state.planned->node].spec->type->job()->withdraws;
  JobRun run(state.scope, *state.out, records ? &*records : nullptr, input, withdraws, std::move(stop));
  Status outcome = run.Run(damaged);
  if (!outcome.ok() && damaged)
    return OutputError(OutputName(*damaged, ".part"),
                       Status(Code::kDataLoss, std::string(outcome.message())));
  return outcome;
}

JobCall::JobCall(const SegmentScope& scope, std::string unit, std::uint64_t input_bytes, std::stop_token stop)
    : scope_(scope),
      unit_(std::move(unit)),
      stop_(std::move(stop)),
      scratch_(StrCat(scope.environment->scratch, "/", scope.planned->keys.stage, "-",
                      scope.planned->recipe().ToHex().substr(0, 16))),
      running_(std::make_shared<RunningUnit>(unit_, std::vector<std::string>{scope.planned->keys.stage},
                                             input_bytes)) {}

JobCall::~JobCall() {
  std::error_code ignored;  // the next run removes the rest
  std::filesystem::remove_all(scratch_, ignored);
}

Status JobCall::CheckMemory(const SegmentScope& scope, const ArtifactTotals& input) {
  ASSIGN_OR_RETURN(const std::uint64_t memory, scope.assembly.job->Memory(input));
  if (memory <= scope.options->memory_bytes) return {};
  return Status(
      Code::kResourceExhausted,
      StrCat("stage '", scope.planned->keys.stage, "' would take ", HumanBytes(memory),
             " of memory for this input, and limits.memory is ", HumanBytes(scope.options->memory_bytes),
             "; raise it, or give the stage less to read"));
}

Status JobCall::Begin() {
  std::error_code error;
  std::filesystem::remove_all(scratch_, error);
  if (!error) std::filesystem::create_directories(scratch_, error);
  return error ? SystemError(StrCat("making the directory ", scratch_), error.value()) : Status();
}

JobRequest JobCall::Request() const {
  JobRequest request;
  request.out_uri = UriOfLocation(*scope_.environment, scope_.planned->location);
  request.recipe = scope_.planned->recipe();
  if (const auto found = scope_.options->positions.find(scope_.planned->keys.stage);
      found != scope_.options->positions.end())
    request.position = found->second;
  request.scratch = scratch_;
  request.kept = scope_.environment->kept;
  request.memory_bytes = scope_.options->memory_bytes;
  request.threads = scope_.options->threads;
  request.progress = [running = running_](std::uint64_t done, std::uint64_t of) {
    running->of.store(of, std::memory_order_relaxed);
    running->done.store(done, std::memory_order_relaxed);
  };
  request.say = [running = running_](std::string_view line) { running->Say(line); };
  request.stop = stop_;
  return request;
}

Result<JobOutput> JobCall::Run(const JobRequest& request) const {
  scope_.environment->progress->Started(running_);
  const ChildOwner owner(unit_);
  Result<JobOutput> output = [&] {
    const CpuWatch watch(running_->counters.cpu_ns);
    return scope_.assembly.job->Run(request);
  }();
  scope_.environment->progress->Finished(unit_, output.status());
  return output;
}

}  // namespace pipeline
