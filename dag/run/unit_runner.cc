#include "dag/run/unit_runner.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/plan/unneeded_outputs.h"
#include "dag/records/partition_output.h"
#include "dag/run/artifact_summary.h"
#include "dag/run/job_unit.h"

namespace pipeline {

Status UnitRunner::Make(SegmentState& state) {
  SideInputOutputs outputs;
  {
    const Lock lock(run_.mutex);
    outputs = SideInputOutputsOf(state);
  }
  Status made = MakeStages(run_.graph, run_.plan, run_.prepared.streams, std::move(outputs), state);
  const Lock lock(run_.mutex);
  state.stages = SegmentState::Stages::kMade;
  if (!made.ok()) state.phase = SegmentState::Phase::kFailed;
  run_.Wake();
  return made;
}

UnitContext UnitRunner::ContextOf(SegmentState& state, std::optional<std::uint32_t> input) {
  UnitEvents events;
  events.logged = [this, &state](OutputsOfInput::Existing existing) {
    const Lock lock(run_.mutex);
    const PartitionId id = existing.output.id;
    const std::string unit = ToString(UnitId{state.name(), id});
    if (const auto why = state.voided.extract(id)) {
      run_.failures.Log(UnitState::kVoid, unit, 0, why.mapped());
      state.inputs[id.input].begun.erase(id.partition);
      if (state.upstream != nullptr && state.upstream->exists(id)) state.Offer(id);
      return run_.Wake();
    }
    if (state.upstream == nullptr) state.unsettled.insert(id);
    state.inputs[id.input].outputs.existing.insert_or_assign(id.partition, std::move(existing));
    for (SegmentState* reader : state.readers) reader->Offer(id);
    run_.Wake();
  };
  events.failed = [this, &state](PartitionId id, const Status& why) {
    const Lock lock(run_.mutex);
    state.failed.insert(id);
    return run_.failures.Record(ToString(UnitId{state.name(), id}), why);
  };
  events.ended = [this, &state, input](const InputEnd& end) {
    if (!input) return;
    const Lock lock(run_.mutex);
    state.SetEnd(*input, end);
    run_.Wake();
  };
  return {state.scope, *run_.arena, std::move(events), run_.stop.get_token()};
}

Status UnitRunner::Stream(SegmentState& state, std::uint32_t number) {
  OutputsOfInput made;
  std::uint64_t remakes = 0;
  {
    const Lock lock(run_.mutex);
    made = state.inputs[number].outputs;
    remakes = run_.remakes;
  }
  const UnitContext unit = ContextOf(state, number);
  const bool takes_whole = state.barrier == nullptr && state.scope.assembly.barrier != nullptr;
  Status checked = state.barrier != nullptr ? CheckSegment(*state.barrier) : Status();
  for (const SegmentState* maker : state.makers)
    if (checked.ok() && takes_whole && !maker->planned->publishes) checked = CheckSegment(*maker);
  Status outcome = !checked.ok()              ? std::move(checked)
                   : state.barrier != nullptr ? ReadBarrier(unit, *state.barrier, made)
                   : takes_whole              ? ReadSideInputs(unit, state, made)
                                              : ReadFile(unit, state, number, made);
  const bool reads_file = state.barrier == nullptr && !takes_whole && state.planned->files;
  if (!outcome.ok() && reads_file) outcome = ReadAnew(state, number, std::move(outcome));
  return Settle(state, number, remakes, std::move(outcome));
}

Status UnitRunner::Settle(SegmentState& state, std::uint32_t number, std::uint64_t remakes, Status outcome) {
  const Lock lock(run_.mutex);
  SegmentState::Input& input = state.inputs[number];
  input.running = false;
  // Partitions that failed stay missing: another try in this run would fail again.
  if (!outcome.ok() || !state.failed.empty()) input.given_up = true;
  // Nobody knows the content of the input that these outputs were made from.
  if (outcome.Detail<SourceChanged>() != nullptr)
    run_.failures.InvalidateUnsettled(state, number, kSourceChanged);
  if (outcome.ok()) state.TakeUnsettled(number);
  if (!input.given_up && !input.outputs.complete() && remakes == run_.remakes) {
    input.given_up = true;
    return Status(Code::kInternal, "its Source ended before it gave all wanted partitions [this is a bug]");
  }
  if (!input.outputs.complete()) state.LookAgainAt(number);
  return outcome;
}

Status UnitRunner::StreamGroup(SegmentState& state, const std::vector<std::uint32_t>& numbers) {
  std::deque<UnitContext> units;  // the group refers to them
  std::deque<OutputsOfInput> made;
  InputGroup group(*run_.environment.log, *state.scope.directory, *state.scope.work,
                   MostInputs(run_.options));
  const Snapshot::Files& source = run_.snapshot.files.at(run_.graph[*state.planned->files].spec->name);
  Status lost;
  for (const std::uint32_t number : numbers) {
    UnitContext& unit = units.emplace_back(ContextOf(state, number));
    std::uint64_t remakes = 0;
    {
      const Lock lock(run_.mutex);
      if (run_.stop.stop_requested()) {
        state.inputs[number].running = false;
        continue;
      }
      made.push_back(state.inputs[number].outputs);
      remakes = run_.remakes;
    }
    RunSmallInput(unit, source.files[number], number, made.back(), group,
                  [this, &state, &lost, number, remakes](Status outcome) {
                    if (!outcome.ok()) outcome = ReadAnew(state, number, std::move(outcome));
                    outcome = Settle(state, number, remakes, std::move(outcome));
                    const Lock lock(run_.mutex);
                    if (outcome.Detail<LostLease>() != nullptr)
                      lost = outcome;
                    else if (!outcome.ok())
                      run_.failures.Fail(state, ToString(UnitId{state.name(), StreamId{number}}), outcome);
                  });
  }
  const Status flushed = group.Flush();
  return lost.ok() ? flushed : lost;
}

Status UnitRunner::ReadFile(const UnitContext& unit, const SegmentState& state, std::uint32_t number,
                            const OutputsOfInput& made) {
  if (!state.planned->files)  // it had all its partition outputs when the run began
    return Status(Code::kUnavailable, "the inputs that it is made from are gone; run again");
  const Snapshot::Files& source = run_.snapshot.files.at(run_.graph[*state.planned->files].spec->name);
  // No read was planned when the run began; a damaged partition output changed that.
  RETURN_IF_ERROR(source.missing);
  return RunStreamUnit(unit, source.files[number], number, made);
}

Status UnitRunner::ReadAnew(SegmentState& state, std::uint32_t number, Status why) {
  if (!run_.environment.drop_damaged || why.code() == Code::kCancelled) return why;
  const Snapshot::Files& source = run_.snapshot.files.at(run_.graph[*state.planned->files].spec->name);
  if (number >= source.files.size()) return why;
  // First, because after a kill in between nothing would show what the outputs were made of.
  const auto invalidate = [&] {
    const Lock lock(run_.mutex);
    InvalidateInput(state, number, "made of bytes that are fetched anew");
    ++run_.remakes;
  };
  RETURN_IF_ERROR(run_.environment.drop_damaged(source.files[number].input.path, why, invalidate));
  const Lock lock(run_.mutex);
  if (state.readers.empty()) return {};
  // Units may still read outputs that are void now; only the next run begins without them.
  return Status(why.code(), StrCat(why.message(),
                                   "; its downloaded bytes are removed, and the outputs made from them "
                                   "are void: run again, and it is downloaded again"));
}

void UnitRunner::InvalidateInput(SegmentState& state, std::uint32_t number, std::string_view why) {
  OutputsOfInput& outputs = state.inputs[number].outputs;
  for (const auto& [partition, existing] : outputs.existing)
    run_.failures.Log(UnitState::kVoid, ToString(UnitId{state.name(), existing.output.id}), 0,
                      std::string(why));
  outputs.existing.clear();
  state.LookAgainAt(number);
  if (!state.readers.empty())
    state.phase = SegmentState::Phase::kFailed;  // no unit of it starts in this run any more
  for (SegmentState* reader : state.readers) {
    reader->phase = SegmentState::Phase::kFailed;
    // Units of the reader that run now have read such outputs, and log what they made of them later.
    for (const std::uint32_t partition : reader->inputs[number].begun)
      reader->voided.emplace(PartitionId{number, partition}, why);
    InvalidateInput(*reader, number, why);
  }
}

Status UnitRunner::ReadBarrier(const UnitContext& unit, SegmentState& barrier, const OutputsOfInput& made) {
  std::vector<PartitionOutput> outputs;
  std::set<PartitionId> remade;
  {
    const Lock lock(run_.mutex);
    outputs = barrier.all_outputs();
    remade = barrier.remade;
  }
  Status outcome = RunBarrierUnit(unit, *barrier.scope.directory, std::move(outputs), made);
  return MakeAgain(barrier, remade, std::move(outcome));
}

Status UnitRunner::ReadSideInputs(const UnitContext& unit, SegmentState& state, const OutputsOfInput& made) {
  std::vector<std::set<PartitionId>> remade;  // by maker
  {
    const Lock lock(run_.mutex);
    for (const SegmentState* maker : state.makers) remade.push_back(maker->remade);
  }
  Status outcome = RunBarrierUnit(unit, *state.scope.directory, {}, made);
  const std::optional<OutputOf> output = DamagedOutputOf(outcome);
  for (std::size_t at = 0; output && at < state.makers.size(); ++at) {
    SegmentState& maker = *state.makers[at];
    if (maker.name() != output->stage) continue;
    if (remade[at].contains(output->id) || output->id.input >= maker.inputs.size()) break;
    const Lock lock(run_.mutex);
    RemakeForAll(maker, output->id, outcome);
    state.stages = SegmentState::Stages::kLacking;  // the stages hold the earlier partition outputs
    return {};
  }
  return outcome;
}

Status UnitRunner::CheckSegment(const SegmentState& whole) {
  std::vector<PartitionOutput> outputs;
  {
    const Lock lock(run_.mutex);
    outputs = whole.all_outputs();
  }
  const ArtifactSummary summary = Summarize(*run_.environment.log, *whole.planned, outputs);
  RETURN_IF_ERROR(CheckWhole(summary));
  return CheckLine(whole, summary);
}

Status UnitRunner::CheckLine(const SegmentState& last, const ArtifactSummary& summary) const {
  for (const SegmentState* above = &last; above != nullptr; above = above->upstream) {
    Status checked = CheckExpectations(run_.graph, above->planned->chain, above->scope.assembly, summary);
    if (checked.ok()) continue;
    std::string why;
    for (const SegmentState* at = above; at != nullptr && why.empty(); at = at->upstream)
      why = NothingLeft(run_.graph, at->scope, summary);
    if (why.empty()) why = WhatWasLost(run_.graph, above->scope, summary);
    return why.empty() ? checked : Status(checked.code(), StrCat(checked.message(), ": ", why));
  }
  return {};
}

Status UnitRunner::Job(SegmentState& state) {
  if (state.upstream != nullptr) RETURN_IF_ERROR(CheckSegment(*state.upstream));
  std::vector<PartitionOutput> outputs;
  std::set<PartitionId> remade;
  if (state.upstream != nullptr) {
    const Lock lock(run_.mutex);
    outputs = state.upstream->all_outputs();
    remade = state.upstream->remade;
  }
  Status outcome = RunJobUnit(run_.graph, state, outputs, run_.stop.get_token());
  if (state.upstream != nullptr && outcome.Detail<StageRefused>() != nullptr)
    outcome = WithLosses(std::move(outcome), run_.graph, state.upstream->scope,
                         Summarize(*run_.environment.log, *state.upstream->planned, outputs));
  if (!outcome.ok()) return state.upstream ? MakeAgain(*state.upstream, remade, std::move(outcome)) : outcome;
  {
    const Lock lock(run_.mutex);
    state.phase = SegmentState::Phase::kFinishing;
  }
  return Done(state);
}

Status UnitRunner::MakeAgain(SegmentState& producer, const std::set<PartitionId>& remade, Status why) {
  const std::optional<PartitionId> output = DamagedOutput(why);
  if (!output || remade.contains(*output)) return why;
  const Lock lock(run_.mutex);
  RemakeForAll(producer, *output, why);
  return {};
}

Status UnitRunner::Partition(SegmentState& state, const PartitionOutput& output, bool remade) {
  const Node& made_by = run_.graph[state.upstream->planned->node];
  Status outcome = RunPartitionUnit(ContextOf(state), *state.upstream->scope.directory, output, made_by.out);
  if (!DamagedOutput(outcome)) return outcome;
  const Lock lock(run_.mutex);
  SegmentState& upstream = *state.upstream;
  state.inputs[output.id.input].begun.erase(output.id.partition);
  if (remade) return outcome;
  Remake(upstream, output.id, outcome);
  if (upstream.inputs[output.id.input].outputs.existing.contains(output.id.partition)) state.Offer(output.id);
  return {};
}

void UnitRunner::RemakeForAll(SegmentState& producer, PartitionId id, const Status& why) {
  producer.removed ? Restore(producer, producer.all_ids()) : Remake(producer, id, why);
}

void UnitRunner::Remake(SegmentState& producer, PartitionId id, const Status& why) {
  if (producer.removed) return Restore(producer, {id});
  if (!producer.remade.insert(id).second) return;  // another reader has found the same damage
  const std::string unit = ToString(UnitId{producer.name(), id});
  run_.environment.progress->Note(StrCat(unit, " is damaged (", why.message(), ") and will be made again"));
  run_.failures.Log(UnitState::kVoid, unit, 0, std::string(why.message()));
  Forget(producer, id, why);
}

void UnitRunner::Restore(SegmentState& producer, const std::vector<PartitionId>& ids) {
  const Status why(Code::kNotFound, "it was removed when nothing needed it");
  std::size_t made_again = 0;
  for (const PartitionId id : ids) {
    // Otherwise another reader has found the same.
    if (!producer.exists(id) || !producer.remade.insert(id).second) continue;
    Forget(producer, id, why);
    ++made_again;
  }
  if (made_again == 0) return;
  producer.restored = true;
  run_.environment.progress->Note(StrCat(
      "stage '", producer.name(), "': ", made_again, made_again == 1 ? " partition is" : " partitions are",
      " made again, which had been removed when nothing needed ", made_again == 1 ? "it" : "them"));
}

void UnitRunner::Forget(SegmentState& producer, PartitionId id, const Status& why) {
  ++run_.remakes;
  SegmentState::Input& input = producer.inputs[id.input];
  input.outputs.existing.erase(id.partition);
  input.begun.erase(id.partition);
  producer.LookAgainAt(id.input);
  if (producer.upstream) producer.Offer(id);
  for (SegmentState* reader : producer.readers) {
    if (!producer.planned->varies) break;  // the same bytes come out again
    if (reader->exists(id))
      Remake(*reader, id, why);
    else if (reader->inputs[id.input].begun.contains(id.partition))  // it runs, with the earlier bytes
      reader->voided.emplace(id, std::string(why.message()));
  }
  producer.publisher.reset();
  producer.checked = false;
  if (producer.phase != SegmentState::Phase::kFailed) producer.phase = SegmentState::Phase::kPartitions;
  run_.Wake();
}

Status UnitRunner::PlanShards(SegmentState& state) {
  std::vector<PartitionOutput> outputs;
  std::uint64_t remakes = 0;
  {
    const Lock lock(run_.mutex);
    if (!state.outputs_complete()) return SendBack(state);
    remakes = run_.remakes;
    outputs = state.all_outputs();
  }
  ArtifactSummary summary = Summarize(*run_.environment.log, *state.planned, outputs);
  {
    const Lock lock(run_.mutex);
    if (remakes != run_.remakes) return SendBack(state);
    state.summary = std::move(summary);
  }
  RETURN_IF_ERROR(CheckWhole(state.summary));
  // The checks run before any shard is written. They include the upstream segments, which an earlier run may
  // have made, or whose own checks may still be running.
  RETURN_IF_ERROR(CheckLine(state, state.summary));
  if (!state.planned->publishes) return Finish(state, SegmentState::Phase::kPlanning);
  {
    const Lock lock(run_.mutex);
    state.checked = true;
  }
  if (RemovesOutputs(run_.options)) RemoveUnneeded();  // makes room for the shards
  auto publisher = std::make_shared<Publisher>(state.scope, *state.out);
  // Several processes must find the same groups, whatever number of threads each has.
  const int writers = run_.Does(ExecutionMode::kAll) ? run_.options.threads : 1;
  Status begun = publisher->Begin(outputs, GroupMemory(run_.options), writers);
  if (!begun.ok()) return Damaged(state, std::move(begun), true);
  run_.environment.progress->Advanced(state.name(), publisher->existing_shards(), publisher->shards());
  const bool none_left = publisher->groups().empty();
  {
    const Lock lock(run_.mutex);
    state.publisher = publisher;
    state.next_group = state.groups_done = 0;
    state.phase = SegmentState::Phase::kPublishing;
  }
  if (none_left) return Finish(state, SegmentState::Phase::kPublishing);
  return {};
}

Status UnitRunner::WriteShards(SegmentState& state, Publisher& publisher, std::size_t group) {
  // A worker may have less memory than the shards were grouped for, and then reads more, smaller windows.
  const std::uint64_t memory = std::min(GroupMemory(run_.options), run_.options.memory_bytes / 2);
  Status outcome = publisher.RunGroup(group, memory, run_.stop.get_token());
  bool last = false, current = false;
  {
    const Lock lock(run_.mutex);
    current = state.publisher.get() == &publisher;
    if (outcome.ok()) last = current && ++state.groups_done == publisher.groups().size();
  }
  if (!outcome.ok()) return Damaged(state, std::move(outcome), current);
  run_.environment.progress->Advanced(state.name(), publisher.existing_shards(), publisher.shards());
  return last ? Finish(state, SegmentState::Phase::kPublishing) : Status();
}

Status UnitRunner::Damaged(SegmentState& state, Status why, bool current) {
  const std::optional<PartitionId> output = DamagedOutput(why);
  if (!output) return why;
  const Lock lock(run_.mutex);
  if (current && state.remade.contains(*output)) return why;
  RemakeForAll(state, *output, why);
  return {};
}

Status UnitRunner::SendBack(SegmentState& state) {
  state.phase = SegmentState::Phase::kPartitions;
  run_.Wake();
  return {};
}

Status UnitRunner::Finish(SegmentState& state, SegmentState::Phase from) {
  if (run_.Does(ExecutionMode::kOneUnit)) return {};  // `pipe plan` does it, once all shards exist
  std::vector<PartitionOutput> outputs;               // of a segment that publishes nothing
  {
    const Lock lock(run_.mutex);
    if (!state.Advance(from, SegmentState::Phase::kFinishing)) return {};
    if (!state.publisher) outputs = state.all_outputs();
  }
  const Schema& schema = run_.graph[state.planned->node].out;
  if (state.publisher)
    RETURN_IF_ERROR(state.publisher->Finish(state.summary, schema));
  else if (!state.planned->takes_in)
    RETURN_IF_ERROR(FinishOutputs(state.scope, schema, outputs, state.summary));
  return Done(state);
}

void UnitRunner::ForgetFailures(const SegmentState& state) {
  RunLog& log = *run_.environment.log;
  for (const std::string& unit : log.FailedUnits(state.name() + "/")) {
    const UnitLine* done = log.FindDone(unit);
    const UnitLine again = done == nullptr ? UnitLine() : *done;
    const Lock lock(run_.mutex);
    if (done == nullptr)
      run_.failures.Log(UnitState::kVoid, unit, 0, "done since");
    else
      run_.failures.Log(again);  // the line from before counts again
  }
}

Status UnitRunner::Copy(SegmentState& state) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> from,
                   OpenLocation(run_.environment, state.planned->copy_from));
  RETURN_IF_ERROR(CopyArtifact(state.scope, *from, *state.out, run_.stop.get_token()));
  return Done(state);
}

void UnitRunner::RemoveUnneeded() {
  while (true) {
    SegmentState* unneeded = nullptr;
    {
      const Lock lock(run_.mutex);
      for (const std::unique_ptr<SegmentState>& state : run_.prepared.states)
        if (unneeded == nullptr && state->is_unneeded()) unneeded = state.get();
      if (unneeded == nullptr) return;
      ++unneeded->running;
      unneeded->removing = unneeded->removed = true;
      unneeded->restored = false;
      unneeded->remade.clear();  // a later damage is one of other bytes
    }
    RemoveOutputsOf(*unneeded);
    const Lock lock(run_.mutex);
    --unneeded->running;
    unneeded->removing = false;
    run_.Wake();
  }
}

void UnitRunner::RemoveOutputsOf(const SegmentState& state) const {
  const Result<std::uint64_t> removed =
      RemoveOutputs(run_.environment, state.planned->directory, run_.stop.get_token());
  const std::string& stage = run_.graph[state.planned->node].spec->name;
  if (!removed.ok())
    LogWarning(
        StrCat("stage '", stage, "': intermediates that nothing needs stay: ", removed.status().message()));
  else if (*removed > 0)
    run_.environment.progress->Note(StrCat("stage '", stage, "': ", HumanBytes(*removed),
                                           " of intermediates removed: nothing unfinished needs them"));
}

Status UnitRunner::Done(SegmentState& state) {
  {
    const Lock lock(run_.mutex);
    if (state.phase != SegmentState::Phase::kFinishing) return {};
    state.phase = SegmentState::Phase::kDone;
  }
  run_.environment.progress->StageDone(state.name());
  const std::string& location = state.planned->location;
  run_.environment.progress->Note(location.empty() || location.starts_with(kWorkLocation)
                                      ? StrCat("stage '", state.name(), "' is complete")
                                      : StrCat("stage '", state.name(), "' published ", location));
  ForgetFailures(state);
  const Lock lock(run_.mutex);
  state.Advance(SegmentState::Phase::kFinishing, SegmentState::Phase::kDone);
  return {};
}

}  // namespace pipeline
