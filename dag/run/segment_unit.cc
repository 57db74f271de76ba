#include "dag/run/segment_unit.h"

#include <map>
#include <utility>

#include "base/byte_reader.h"
#include "base/child_ledger.h"
#include "base/commit_point.h"
#include "base/mutex.h"
#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/keys.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/partition_counts.h"
#include "dag/run/input_bounds.h"
#include "dag/run/publisher.h"
#include "dag/run/unit_lines.h"

namespace pipeline {

namespace {

/// Commits and logs the partitions of one unit.
class Committer final : public SegmentOutput {
 public:
  /// `content` gives the content key of a partition; `whole_from` is the number of the first stage that saw
  /// all records. `file` is read; null: partitions are. `bounds` checks the input. Null: it has no bounds.
  /// `group` commits the partitions. Null: each is committed on its own. `check_first` is called before each
  /// commit; may be empty. `source` tells the next run how to begin behind a partition; null: nothing.
  Committer(const UnitContext& unit, std::function<Digest(PartitionId)> content, std::size_t whole_from,
            const SourceFile* file = nullptr, InputBounds* bounds = nullptr, InputGroup* group = nullptr,
            std::function<Status()> check_first = {}, const Source* source = nullptr)
      : scope_(unit.scope),
        content_(std::move(content)),
        whole_from_(whole_from),
        events_(unit.events),
        stop_(unit.stop),
        file_(file),
        bounds_(bounds),
        group_(group),
        check_first_(std::move(check_first)),
        source_(source),
        directory_(group ? group->directory() : *unit.scope.directory),
        work_(group ? group->work() : *unit.scope.work) {}

  Result<std::unique_ptr<Sink>> Open(PartitionId id) override {
    RETURN_IF_ERROR(CheckDisk());
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> sink, scope_.assembly.sink->OpenPartition(directory_, id));
    return sink;
  }

  Status Keep(PartitionId id, const std::vector<Quarantined>& records) override {
    const Lock lock(mutex_);
    auto [at, added] = quarantines_.try_emplace(id, work_, scope_.chain, id);
    return at->second.Add(records);
  }

  Status Commit(ClosedPartition partition) override {
    const std::string unit = ToString(UnitId{scope_.planned->keys.stage, partition.id});
    const std::size_t first_object = group_ ? group_->objects() : 0;
    if (!partition.failure.ok())
      return Failed(unit, partition.id, std::move(partition.failure), partition.failed_index);
    if (check_first_) RETURN_IF_ERROR(check_first_());
    ASSIGN_OR_RETURN(const bool quarantined, CommitQuarantine(partition.id));
    Result<CommittedPartition> output = partition.sink->Commit(partition.end, stop_);
    partition.sink.reset();
    if (output.status().code() == Code::kCancelled) return std::move(output).status();
    if (!output.ok()) return Failed(unit, partition.id, std::move(output).status());
    if (!group_) PassCommitPoint("partition.committed");

    UnitLine line;
    line.state = UnitState::kDone;
    line.unit = unit;
    line.segment = scope_.log_segment;
    line.recipe = PartitionRecipe(scope_.planned->keys.recipe, partition.id);
    line.content = content_(partition.id);
    line.digest = output->digest;
    line.objects = output->objects;
    line.records = partition.records;
    line.location = scope_.planned->directory;
    line.splits = partition.splits;
    line.end = partition.end;
    if (source_ != nullptr) line.note = source_->note_before(partition.end.raw_end);
    for (const auto& [reason, count] : output->reasons) partition.counts.back().Add(reason, count);
    for (std::size_t stage = 0; stage < partition.counts.size(); ++stage)
      RETURN_IF_ERROR(CheckDeclared(scope_, stage, partition.counts[stage]));
    const StageCounts of_source = partition.counts.front();
    for (std::size_t stage = 0; stage < partition.counts.size(); ++stage)
      line.counts.emplace(scope_.assembly.stages[stage], std::move(partition.counts[stage]));
    line.whole_from = scope_.assembly.stages[whole_from_];
    const auto logged =
        [&scope = scope_, &events = events_, unit, records = partition.records,
         bytes = BytesOf(output->objects),
         existing = OutputsOfInput::Existing{
             PartitionOutput{partition.id, std::move(*output), std::move(partition.splits)}, partition.end}] {
          scope.environment->progress->Logged(unit, records, bytes);
          events.logged(existing);
        };
    if (group_) {
      const auto failed = [&scope = scope_, &events = events_, unit, id = partition.id](const Status& why) {
        return LogFailure(scope, events, unit, id, why, 0);
      };
      RETURN_IF_ERROR(group_->Hold({std::move(line), first_object, logged, failed}));
      // A broken bound is reported with the first fault, which is in the quarantine.
      if (quarantined && bounds_ && bounds_->any()) RETURN_IF_ERROR(group_->Flush());
    } else {
      RETURN_IF_ERROR(scope_.environment->log->Append(line));
      PassCommitPoint("partition.logged");
      logged();
    }
    if (bounds_ != nullptr) return bounds_->Take(partition.id.partition, of_source);
    return {};
  }

 private:
  /// Fails before a partition is begun if the disk has too little room for it, because its bytes go to disk
  /// at once.
  Status CheckDisk() const {
    const Result<std::uint64_t> free = scope_.environment->free_bytes();
    if (!free.ok()) return free.status();
    const std::uint64_t need = scope_.source_partition_bytes + (scope_.source_partition_bytes >> 2);
    if (*free >= need) return {};
    return Status(
        Code::kResourceExhausted,
        StrCat(scope_.environment->has_scratch ? "the scratch's disk has " : "the work directory's disk has ",
               HumanBytes(*free), " left and the next partition may need ", HumanBytes(need),
               "; free some space and run again, or name another ",
               scope_.environment->has_scratch ? "--scratch" : "--work"));
  }

  /// Returns whether the partition has a quarantine.
  Result<bool> CommitQuarantine(PartitionId id) {
    std::optional<QuarantineWriter> writer;
    {
      const Lock lock(mutex_);
      if (const auto found = quarantines_.find(id); found != quarantines_.end()) {
        writer = std::move(found->second);
        quarantines_.erase(found);
      }
    }
    // A writer without records removes the file that an earlier try left.
    const bool quarantined = writer.has_value();
    if (!writer) writer.emplace(work_, scope_.chain, id);
    RETURN_IF_ERROR(writer->Commit());
    return quarantined;
  }

  /// `index`: the record at fault, which the message then names.
  Status Failed(const std::string& unit, PartitionId id, Status why,
                std::optional<std::uint64_t> index = std::nullopt) {
    {
      const Lock lock(mutex_);
      quarantines_.erase(id);
    }
    // The lines of what was read before come first.
    if (group_) RETURN_IF_ERROR(group_->Flush());
    if (index && file_ != nullptr)
      why = std::move(why).Annotate(
          StrCat(file_->input.name, ": ", PlaceOf(scope_, *file_, id, *index, stop_)));
    else if (index)
      why = std::move(why).Annotate(NumberOf(id, *index));
    return LogFailure(scope_, events_, unit, id, why, index.value_or(0));
  }

  const SegmentScope& scope_;
  const std::function<Digest(PartitionId)> content_;
  const std::size_t whole_from_;
  const UnitEvents& events_;
  const std::stop_token stop_;
  const SourceFile* const file_;
  InputBounds* const bounds_;
  InputGroup* const group_;
  const std::function<Status()> check_first_;
  const Source* const source_;
  Store& directory_;
  Store& work_;
  Mutex mutex_;
  std::map<PartitionId, QuarantineWriter> quarantines_ GUARDED_BY(mutex_);  // partitions not closed yet
};

Status ChangedSource(const std::string& path) {
  return Status(Code::kFailedPrecondition,
                StrCat(path, ": was changed since this run began; its outputs are void; run again"))
      .With(std::make_shared<SourceChanged>());
}

SegmentSpec SpecOf(const SegmentScope& scope) {
  SegmentSpec spec = scope.assembly.spec;
  spec.tokens = scope.tokens;
  spec.text_bytes = scope.text_bytes;
  spec.waiting_partitions = scope.waiting_partitions;
  spec.watch = scope.environment->watch;
  spec.names = scope.assembly.stages;
  return spec;
}

/// The ends of the existing partitions of an input, which its Source skips.
class ExistingEnds {
 public:
  explicit ExistingEnds(const OutputsOfInput& outputs) {
    for (const auto& [partition, existing] : outputs.existing) ends_.emplace(partition, existing.end);
    for (; !Lacks(first_); ++first_) front_ = EndOf(first_)->raw_end;
  }
  /// Bytes of text before the first partition that is lacking.
  std::uint64_t front() const { return front_; }
  /// The first partition that is lacking.
  std::uint32_t first_lacking() const { return first_; }
  bool Lacks(std::uint32_t partition) const { return !ends_.contains(partition); }
  std::optional<PartitionEnd> EndOf(std::uint32_t partition) const {
    const auto found = ends_.find(partition);
    return found == ends_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::uint32_t, PartitionEnd> ends_;
  std::uint32_t first_ = 0;
  std::uint64_t front_ = 0;
};

/// The note of the line about a partition. Absent: there is none, as in lines of earlier versions.
std::optional<std::string> NoteOf(const SegmentScope& scope, PartitionId id) {
  const UnitLine* const line =
      scope.environment->log->FindDone(ToString(UnitId{scope.planned->keys.stage, id}));
  return line == nullptr || line->note.empty() ? std::nullopt : std::optional(line->note);
}

/// When the source of an input is checked: once it is read, or also before each commit. The first will do
/// where the next run reads on at the last partition that was committed, and so compares the bytes around its
/// end.
enum class SourceChecks : std::uint8_t { kAtTheEnd, kBeforeCommits };

/// Reads an input and commits its partitions. Its end line remains to be logged: it is returned if the input
/// has come to its end for the first time and nothing failed.
Result<std::optional<InputEnd>> ReadPartitions(const UnitContext& unit, const OpenInput& input,
                                               SourceChecks checks = SourceChecks::kAtTheEnd) {
  const SegmentScope& scope = unit.scope;
  const PlannedSegment& planned = *scope.planned;
  // The input of a stream has no digest before its end: recipe and content key are the same.
  Committer committer(
      unit, [&planned](PartitionId id) { return PartitionRecipe(planned.keys.recipe, id); }, 0, input.file,
      input.bounds, input.group,
      checks == SourceChecks::kBeforeCommits ? input.check_unchanged : std::function<Status()>(),
      input.group ? nullptr : &input.source);  // a small input is soon read again
  scope.environment->progress->Started(input.running);
  SegmentProgress& counters = input.running->counters;
  Status outcome = input.group
                       ? RunSmallSegment(input.source, SpecOf(scope), committer, counters,
                                         input.group->scratch(), unit.stop)
                       : RunSegment(unit.arena, input.source, SpecOf(scope), committer, counters, unit.stop);
  // A unit that failed or was stopped may have read a source that changed meanwhile.
  Status unchanged = input.check_unchanged();
  if (outcome.ok() || unchanged.Detail<SourceChanged>() != nullptr) outcome = std::move(unchanged);
  RETURN_IF_ERROR(outcome);
  const std::optional<InputEnd> end = input.source.End();
  const std::optional<InputEnd>& logged = input.made.end;
  // An input that broke a bound gets no end line.
  if (const std::optional<InputEnd>& known = logged ? logged : end; input.bounds != nullptr && known)
    RETURN_IF_ERROR(input.bounds->End(known->partitions));
  return logged ? std::nullopt : end;
}

Status LogEnd(const UnitContext& unit, const OpenInput& input, const InputEnd& end) {
  ASSIGN_OR_RETURN(const UnitLine line, EndLine(unit.scope, input.number, end));
  PassCommitPoint("input.ended");
  RETURN_IF_ERROR(unit.scope.environment->log->Append(line));
  unit.events.ended(end);
  return {};
}

Status ReadToEnd(const UnitContext& unit, const OpenInput& input) {
  const Environment& environment = *unit.scope.environment;
  const Result<std::optional<InputEnd>> end = ReadPartitions(unit, input);
  Status outcome = end.status();
  if (outcome.ok())
    outcome = *end ? LogEnd(unit, input, **end) : ForgetFailure(*environment.log, input.running->unit);
  environment.progress->Finished(input.running->unit, outcome);
  return outcome;
}

/// Does the same for an input of a group, which commits it together with others.
void ReadInGroup(const UnitContext& unit, const OpenInput& input, std::function<void(Status)> settled) {
  const Environment& environment = *unit.scope.environment;
  Progress& progress = *environment.progress;
  const Result<std::optional<InputEnd>> end = ReadPartitions(unit, input);
  Status outcome = end.status();
  if (outcome.ok() && *end) {
    Result<UnitLine> line = EndLine(unit.scope, input.number, **end);
    if (line.ok())
      return input.group->End(std::move(line).value(),
                              [&events = unit.events, &progress, end = **end, name = input.running->unit,
                               settled = std::move(settled)](Status why) {
                                if (why.ok()) events.ended(end);
                                progress.Finished(name, why);
                                settled(std::move(why));
                              });
    outcome = std::move(line).status();
  }
  Status flushed = input.group->Flush();
  if (outcome.ok()) outcome = std::move(flushed);
  if (outcome.ok()) outcome = ForgetFailure(*environment.log, input.running->unit);
  progress.Finished(input.running->unit, outcome);
  settled(std::move(outcome));
}

std::string StreamUnitOf(const SegmentScope& scope, std::uint32_t number) {
  return ToString(UnitId{scope.planned->keys.stage, StreamId{number}});
}

}  // namespace

Publishing SegmentScope::publishing() const {
  return {planned->keys.stage,
          planned->location,
          planned->recipe(),
          environment->lease.holder,
          planned->manifest_version,
          names,
          environment->log,
          [progress = environment->progress](std::string_view line) { progress->Note(line); }};
}

Status ChangedInSilence(const std::string& path, const std::string& real_path, std::uint64_t begin,
                        std::uint64_t end) {
  auto changed = std::make_shared<SourceChanged>();
  changed->silent = real_path;
  return Status(
             Code::kFailedPrecondition,
             StrCat(path, ": its bytes ", begin, " to ", end, " are not those that its digest was made of, ",
                    "although its size and times are as before (a program writes to it through mmap, or put ",
                    "its times back); its outputs are void; run again"))
      .With(std::move(changed));
}

Status ReadInput(const UnitContext& unit, const SourceFile& file, const FileUnit& part,
                 const std::function<Status(const OpenInput&)>& read) {
  const SegmentScope& scope = unit.scope;
  const std::stop_token& stop = unit.stop;
  const ChildOwner owner(part.name);
  ASSIGN_OR_RETURN(const std::string identity, scope.environment->file_identity(file.input.path));
  const auto unchanged_since = [&scope, &file, stop](const std::string& before) -> Status {
    ASSIGN_OR_RETURN(const bool is_unchanged, scope.environment->is_unchanged(file, before, stop));
    return is_unchanged ? Status() : ChangedSource(file.input.path);
  };
  if (!file.identity.empty()) RETURN_IF_ERROR(unchanged_since(file.identity));
  ASSIGN_OR_RETURN(std::shared_ptr<ByteFile> opened, scope.environment->open_file(file.input.path, stop));
  const auto running = std::make_shared<RunningUnit>(part.name, scope.assembly.stages, opened->size());
  const auto check_unchanged = [&, opened]() -> Status {
    RETURN_IF_ERROR(unchanged_since(identity));
    return scope.environment->compare_rest ? scope.environment->compare_rest(*opened, stop) : Status();
  };

  const ExistingEnds ends(part.made);
  SourceRequest request;
  request.input = {file.input.name,
                   std::make_shared<CountingFile>(opened, [running](std::uint64_t, std::string_view bytes) {
                     running->input_read.fetch_add(bytes.size(), std::memory_order_relaxed);
                   })};
  request.number = part.number;
  WayToNewText way(*running, ends.front());
  request.wanted = [&ends, &way](std::uint32_t partition) {
    const bool lacks = ends.Lacks(partition);
    if (lacks)
      way.Wants();
    else
      way.Passes(partition == 0 ? 0 : ends.EndOf(partition - 1).value_or(PartitionEnd()).raw_end);
    return lacks;
  };
  request.last_wanted = part.made.last_missing();
  request.known_end = [&ends](std::uint32_t partition) { return ends.EndOf(partition); };
  // The note of a scan that has not ended says nothing about later bytes.
  if (part.made.cuts && part.made.cuts->end)
    request.note = part.made.cuts->note;
  else if (ends.first_lacking() > 0)
    request.note = NoteOf(scope, {part.number, ends.first_lacking() - 1});
  request.batch_bytes = scope.options->batch_bytes;
  request.decoder_threads = scope.options->threads;
  request.decoder_memory = scope.decoder_memory;
  request.is_small = part.group != nullptr;
  request.stop = stop;
  if (part.narrow) part.narrow(request);
  InputBounds bounds(scope, part.number, file, part.made);
  if (!part.narrow) RETURN_IF_ERROR(bounds.Begin());
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, scope.assembly.source->Open(std::move(request)));
  return read({part.number, part.made, *source, running, check_unchanged, part.narrow ? nullptr : &bounds,
               part.group, &file});
}

Status RunStreamUnit(const UnitContext& unit, const SourceFile& file, std::uint32_t number,
                     const OutputsOfInput& made) {
  return ReadInput(unit, file, {StreamUnitOf(unit.scope, number), number, made},
                   [&unit](const OpenInput& input) { return ReadToEnd(unit, input); });
}

void RunSmallInput(const UnitContext& unit, const SourceFile& file, std::uint32_t number,
                   const OutputsOfInput& made, InputGroup& group,
                   const std::function<void(Status)>& settled) {
  Status opened = ReadInput(unit, file, {StreamUnitOf(unit.scope, number), number, made, &group},
                            [&](const OpenInput& input) {
                              ReadInGroup(unit, input, settled);
                              return Status();
                            });
  if (!opened.ok()) settled(std::move(opened));
}

Status RunCutUnit(const UnitContext& unit, const SourceFile& file, PartitionId id, std::uint32_t last,
                  const OutputsOfInput& made) {
  const std::string name = ToString(UnitId{unit.scope.planned->keys.stage, id});
  const auto narrow = [id, last, &made](SourceRequest& request) {
    request.wanted = [first = id.partition, last, &made](std::uint32_t partition) {
      return partition >= first && partition <= last && !made.existing.contains(partition);
    };
    request.last_wanted = last;
    request.known_end = [&cuts = *made.cuts](std::uint32_t partition) { return cuts.EndOf(partition); };
    request.note = made.cuts->note;
  };
  return ReadInput(unit, file, {name, id.input, made, nullptr, narrow}, [&unit](const OpenInput& input) {
    const Status outcome = ReadPartitions(unit, input, SourceChecks::kBeforeCommits).status();
    unit.scope.environment->progress->Finished(input.running->unit, outcome);
    return outcome;
  });
}

Status RunBarrierUnit(const UnitContext& unit, Store& outputs_directory, std::vector<PartitionOutput> outputs,
                      const OutputsOfInput& made) {
  const SegmentScope& scope = unit.scope;
  const ChildOwner owner(StreamUnitOf(scope, 0));
  std::uint64_t bytes = 0;
  for (const PartitionOutput& output : outputs) bytes += BytesOf(output.committed.objects);
  const auto running = std::make_shared<RunningUnit>(StreamUnitOf(scope, 0), scope.assembly.stages, bytes);
  const ExistingEnds ends(made);
  BarrierRequest request;
  request.artifact = &outputs_directory;
  request.outputs = std::move(outputs);
  request.wanted = [&ends](std::uint32_t partition) { return ends.Lacks(partition); };
  request.batch_bytes = scope.options->batch_bytes;
  request.stop = unit.stop;
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, scope.assembly.barrier->Open(std::move(request)));
  // The Source of a barrier stage does not report how much it has read.
  const auto read_all = [&running, bytes] {
    running->input_read.store(bytes, std::memory_order_relaxed);
    return Status();
  };
  return ReadToEnd(unit, {0, made, *source, running, read_all});
}

Status RunPartitionUnit(const UnitContext& unit, Store& upstream_directory, const PartitionOutput& upstream,
                        const Schema& upstream_schema) {
  const SegmentScope& scope = unit.scope;
  const std::string name = ToString(UnitId{scope.planned->keys.stage, upstream.id});
  const ChildOwner owner(name);
  const Digest content = PartitionContent(
      scope.contents, RecordsContent(upstream.committed.digest, upstream_schema), upstream.id);
  ASSIGN_OR_RETURN(const bool reused, ReuseOutput(unit, upstream.id, content));
  if (reused) return {};
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                   scope.environment->intermediate->Open(upstream_directory, upstream, upstream_schema,
                                                         scope.options->batch_bytes, unit.stop));
  if (scope.assembly.reader) {
    constexpr std::uint32_t kFirst = 1;  // stage 0 is the one that made `upstream`
    ReaderRequest request{std::move(source), upstream.id, kFirst, scope.options->batch_bytes, unit.stop};
    ASSIGN_OR_RETURN(source, scope.assembly.reader->Wrap(std::move(request)));
  }
  const auto running =
      std::make_shared<RunningUnit>(name, scope.assembly.stages, BytesOf(upstream.committed.objects));
  Committer committer(
      unit, [content](PartitionId) { return content; }, 1);
  SegmentSpec spec = SpecOf(scope);
  if (scope.assembly.reader) spec.source_stage = 1;  // it waits for the command that the records go through
  scope.environment->progress->Started(running);
  Status outcome = RunSegment(unit.arena, *source, spec, committer, running->counters, unit.stop);
  if (outcome.ok()) running->input_read.store(running->input_bytes, std::memory_order_relaxed);
  scope.environment->progress->Finished(name, outcome);
  return outcome;
}

}  // namespace pipeline
