#include "dag/cut_inputs.h"

#include <memory>
#include <utility>

#include "base/commit_point.h"
#include "base/mutex.h"
#include "dag/input_bounds.h"
#include "dag/unit_lines.h"

namespace pipeline {

namespace {

/// Checks the bounds of an input whose cuts are known, as far as its partitions exist. If all exist, logs its
/// end and returns true.
Result<bool> EndCutInput(const UnitContext& unit, const SourceFile& file, std::uint32_t number,
                         const OutputsOfInput& made) {
  InputBounds bounds(unit.scope, number, file.input.name, made);
  RETURN_IF_ERROR(bounds.Begin());
  const InputEnd& end = made.cuts->end;
  if (made.existing.size() < end.partitions) return false;
  RETURN_IF_ERROR(bounds.End(end.partitions));
  ASSIGN_OR_RETURN(const UnitLine line, EndLine(unit.scope, number, end));
  PassCommitPoint("input.ended");
  RETURN_IF_ERROR(unit.scope.environment->log->Append(line));
  unit.events.ended(end);
  return true;
}

}  // namespace

void CutInputs::Find(SegmentState& state) const {
  if (!state.active() || !state.planned->files || state.barrier != nullptr) return;
  if (!run_.snapshot.files.at(run_.graph[*state.planned->files].spec->name).missing.ok()) return;
  for (SegmentState::Input& input : state.inputs) {
    const OutputsOfInput& outputs = input.outputs;
    if (outputs.cuts == nullptr || outputs.complete()) continue;
    // One process reads faster from the front to the back: nothing is decoded twice.
    input.cut = !run_.Does(ExecutionMode::kAll) ||
                (!outputs.end && outputs.existing.size() == outputs.cuts->ends.size());
    input.looked_at = run_.Does(ExecutionMode::kOneUnit);
  }
}

Status CutInputs::Scan(SegmentState& state, std::uint32_t number) {
  std::uint64_t remakes = 0;
  {
    const Lock lock(run_.mutex);
    remakes = run_.remakes;
  }
  Result<std::shared_ptr<const InputCuts>> cuts =
      ScanInput(units_.ContextOf(state, number), FileOf(state, number), number);
  if (!cuts.ok()) return units_.Settle(state, number, remakes, std::move(cuts).status());
  if (*cuts == nullptr) return units_.Stream(state, number);
  const Lock lock(run_.mutex);
  SegmentState::Input& input = state.inputs[number];
  input.outputs.cuts = *std::move(cuts);
  input.running = false;
  input.cut = true;  // another process makes its partitions
  return {};
}

Status CutInputs::Look(SegmentState& state, std::uint32_t number) {
  OutputsOfInput made;
  {
    const Lock lock(run_.mutex);
    made = state.inputs[number].outputs;
  }
  const Result<bool> ended =
      EndCutInput(units_.ContextOf(state, number), FileOf(state, number), number, made);
  const Lock lock(run_.mutex);
  SegmentState::Input& input = state.inputs[number];
  input.looked_at = true;
  input.given_up = !ended.ok();
  if (ended.ok() && !*ended) state.LookAgainAt(number);
  run_.Wake();
  return ended.status();
}

Status CutInputs::Partition(SegmentState& state, PartitionId id) {
  OutputsOfInput made;
  {
    const Lock lock(run_.mutex);
    made = state.inputs[id.input].outputs;
  }
  Status outcome = RunCutUnit(units_.ContextOf(state), FileOf(state, id.input), id, made);
  if (!outcome.ok()) outcome = units_.ReadAnew(state, id.input, std::move(outcome));
  const Lock lock(run_.mutex);
  if (outcome.Detail<SourceChanged>() != nullptr)
    run_.failures.InvalidateUnsettled(state, id.input, kSourceChanged);
  if (!outcome.ok()) return outcome;
  state.unsettled.erase(id);
  if (!state.exists(id) && !state.failed.contains(id)) {  // it is read again from a new copy
    state.inputs[id.input].begun.erase(id.partition);
    state.LookAgainAt(id.input);
  }
  return {};
}

const SourceFile& CutInputs::FileOf(const SegmentState& state, std::uint32_t number) const {
  return run_.snapshot.files.at(run_.graph[*state.planned->files].spec->name).files[number];
}

}  // namespace pipeline
