#include "dag/run/cut_inputs.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/commit_point.h"
#include "base/mutex.h"
#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/run/input_bounds.h"
#include "dag/run/unit_lines.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kLeastPartitions = 4;  // of an input that is cut
constexpr std::uint64_t kTextPerByte = 3;      // about, of compressed text
/// The first cuts are logged again once there are more of them by this part, so that all these lines have at
/// most 17 times as many bytes as the last one.
constexpr std::size_t kTellingPart = 16;
constexpr std::string_view kWhole =
    ": one process decodes all of it, from its front; compressed by `xz -T0` or `pzstd`, or not at all, its "
    "partitions are units that many processes share";

/// Finds the cuts of one input, and logs the first ones while it reads on.
class InputScan {
 public:
  /// `before`: the first cuts, which an earlier scan has found. Null: there are none. `unit` and `file`
  /// outlive the scan.
  InputScan(const UnitContext& unit, const SourceFile& file, std::uint32_t number,
            std::shared_ptr<const InputCuts> before)
      : unit_(unit), file_(file), number_(number), before_(std::move(before)) {
    if (before_ != nullptr) cuts_.ends = before_->ends;
    told_ = cuts_.ends.size();
  }

  /// Null: the input has to be read as a whole, which also reports why it cannot be read.
  Result<std::shared_ptr<const InputCuts>> Run() {
    const OutputsOfInput none;
    const std::string name = ToString(UnitId{unit_.scope.planned->keys.stage, StreamId{number_}});
    const Status read = ReadInput(
        unit_, file_, {name, number_, none, nullptr, [this](SourceRequest& request) { Narrow(request); }},
        [this](const OpenInput& input) { return Read(input); });
    RETURN_IF_ERROR(logged_);
    // The next try goes on where this one was.
    if (read.code() == Code::kCancelled || read.code() == Code::kUnavailable) return read;
    if (read.Detail<SourceChanged>() != nullptr) return read;
    if (!read.ok() || !cuts_.end) return std::shared_ptr<const InputCuts>();
    RETURN_IF_ERROR(Log());
    return std::make_shared<const InputCuts>(std::move(cuts_));
  }

 private:
  void Narrow(SourceRequest& request) {
    request.wanted = [](std::uint32_t) { return false; };
    request.passed = [this](std::uint32_t partition, const PartitionEnd& end) {
      return Pass(partition, end);
    };
    if (before_ == nullptr) return;
    request.known_end = [this](std::uint32_t partition) { return before_->EndOf(partition); };
    request.note = before_->note;
  }

  Status Read(const OpenInput& input) {
    const SegmentScope& scope = unit_.scope;
    const std::uint64_t least =
        std::max(scope.options->least_cut_bytes, kLeastPartitions * scope.source_partition_bytes);
    if (input.source.bytes_to_cut().value_or(0) >= least) {
      input_ = &input;
      RETURN_IF_ERROR(PassOver(input));
    }
    if (!input.source.bytes_to_cut() && input.source.decodes_on_one_thread() &&
        input.running->input_bytes >= least / kTextPerByte)
      scope.environment->progress->Note(StrCat(file_.input.name, kWhole));
    return {};
  }

  Status PassOver(const OpenInput& input) {
    Progress& progress = *unit_.scope.environment->progress;
    progress.Started(input.running);
    Batch batch;
    batch.Clear(unit_.scope.assembly.spec.stages);
    Status outcome = input.source.Next(batch).status();
    // A source that changed meanwhile is not read once more.
    Status unchanged = input.check_unchanged();
    if (outcome.ok() || unchanged.Detail<SourceChanged>() != nullptr) outcome = std::move(unchanged);
    progress.Finished(input.running->unit, outcome);
    RETURN_IF_ERROR(outcome);
    std::optional<InputEnd> end = input.source.End();
    if (!input.source.bytes_to_cut() || !end || end->partitions != cuts_.ends.size()) return {};
    cuts_.note = input.source.note();
    cuts_.end = std::move(end);
    return {};
  }

  Status Pass(std::uint32_t partition, const PartitionEnd& end) {
    if (partition < cuts_.ends.size()) return {};  // the earlier scan found it
    cuts_.ends.push_back(end);
    const auto now = std::chrono::steady_clock::now();
    if (now - told_at_ < unit_.scope.options->scan_period) return {};
    if (cuts_.ends.size() - told_ <= told_ / kTellingPart) return {};
    if (!input_->source.bytes_to_cut()) return {};  // the scan will end without cuts
    const Status unchanged = input_->check_unchanged();
    if (!unchanged.ok()) return unchanged.Detail<SourceChanged>() != nullptr ? unchanged : Status();
    cuts_.note = input_->source.note();
    told_ = cuts_.ends.size();
    told_at_ = now;
    return Log();
  }

  Status Log() {
    ASSIGN_OR_RETURN(const UnitLine line, CutsLine(unit_.scope, number_, cuts_));
    logged_ = unit_.scope.environment->log->Append(line);
    if (logged_.ok()) PassCommitPoint("cuts.logged");
    return logged_;
  }

  const UnitContext& unit_;
  const SourceFile& file_;
  const std::uint32_t number_;
  const std::shared_ptr<const InputCuts> before_;
  const OpenInput* input_ = nullptr;  // that is passed over
  InputCuts cuts_;
  std::size_t told_ = 0;  // number of cuts that the log has
  std::chrono::steady_clock::time_point told_at_ = std::chrono::steady_clock::now();
  Status logged_;  // a failure of the log
};

/// Checks the bounds of an input whose cuts are known, as far as its partitions exist. If all exist, logs its
/// end and returns true.
Result<bool> EndCutInput(const UnitContext& unit, const SourceFile& file, std::uint32_t number,
                         const OutputsOfInput& made) {
  InputBounds bounds(unit.scope, number, file, made);
  RETURN_IF_ERROR(bounds.Begin());
  if (!made.cuts->end || made.existing.size() < made.cuts->end->partitions) return false;
  const InputEnd& end = *made.cuts->end;
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
                (outputs.cuts->end && !outputs.end && outputs.existing.size() == outputs.cuts->ends.size());
    input.looked_at = run_.Does(ExecutionMode::kOneUnit);
  }
}

Status CutInputs::Scan(SegmentState& state, std::uint32_t number) {
  std::uint64_t remakes = 0;
  std::shared_ptr<const InputCuts> before;
  {
    const Lock lock(run_.mutex);
    remakes = run_.remakes;
    before = state.inputs[number].outputs.cuts;
  }
  const UnitContext unit = units_.ContextOf(state, number);
  Result<std::shared_ptr<const InputCuts>> cuts =
      InputScan(unit, FileOf(state, number), number, std::move(before)).Run();
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
  input.outputs.joined = state.scope.assembly.source->joined(*input.outputs.cuts);
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
  std::uint32_t last = id.partition;
  if (run_.Does(ExecutionMode::kOneUnit)) {
    made.joined = state.scope.assembly.source->joined(*made.cuts);
    last = made.LastOfUnit(id.partition);
  }
  Status outcome = RunCutUnit(units_.ContextOf(state), FileOf(state, id.input), id, last, made);
  if (!outcome.ok()) outcome = units_.ReadAnew(state, id.input, std::move(outcome));
  const Lock lock(run_.mutex);
  if (outcome.Detail<SourceChanged>() != nullptr)
    run_.failures.InvalidateUnsettled(state, id.input, kSourceChanged);
  if (!outcome.ok()) return outcome;
  for (std::uint32_t partition = id.partition; partition <= last; ++partition)
    state.unsettled.erase({id.input, partition});
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
