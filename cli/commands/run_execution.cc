#include "cli/commands/run_execution.h"

#include <fstream>
#include <optional>
#include <set>

#include "base/attendance.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "cli/commands/plan_text.h"
#include "cli/commands/print_line.h"
#include "cli/live/stage_line.h"
#include "cli/terminal/event_file.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/refuse.h"
#include "dag/books/unit_id.h"
#include "dag/plan/unneeded_outputs.h"

namespace pipeline {

namespace {

Environment EnvironmentOf(const Workspace& workspace, RunRecorder& recorder, SampleCollector& samples) {
  Environment environment = workspace.environment();
  environment.progress = &recorder;
  environment.watch = &samples;
  return environment;
}

/// True if the same command would fail in the same way, because its message says what to change.
bool FailsAgain(const Status& why) {
  switch (why.code()) {
    case Code::kInvalidArgument:
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
    case Code::kDataLoss:
    case Code::kResourceExhausted:
    case Code::kUnimplemented: return true;
    default: return false;
  }
}

/// Returns the failures that the same command would meet again. `again` is false: the others.
std::vector<UnitFailure> FailuresMet(const RunOutcome& outcome, bool again) {
  std::vector<UnitFailure> found;
  for (const UnitFailure& failure : outcome.failures)
    if (FailsAgain(failure.why) == again) found.push_back(failure);
  return found;
}

}  // namespace

RunExecution::RunExecution(const std::string& file, LoadedPipeline& loaded, const PlannedRun& run,
                           const RunOptions& options, StatusDisplay& display)
    : file_(file),
      loaded_(loaded),
      run_(run),
      options_(options),
      display_(display),
      recorder_(display),
      environment_(EnvironmentOf(*run.workspace, recorder_, samples_)),
      executor_(loaded.graph, run.plan, run.snapshot, environment_, options) {}

int RunExecution::Run(const std::string& command_line, const SignalWatch& signals) {
  std::optional<Attendance> attendance(std::in_place, signals.token());
  const Status marked = executor_.MarkLocations(signals.token());
  if (!marked.ok()) return signals.exit_code() != 0 ? signals.exit_code() : Refuse(marked);
  KeptRun kept(*run_.workspace, recorder_);
  const Status begun = kept.Begin(command_line, loaded_, run_.plan, run_.snapshot, options_);
  if (!begun.ok()) return Refuse(begun);
  attendance.reset();
  const SignalWatch::Finishing finishing(signals);
  const RunOutcome outcome = Execute(kept.id(), signals);
  for (const std::string& line : FailureLines(FailuresMet(outcome, false))) LogError(line);
  return outcome.status.ok() ? EndDone(outcome, kept) : EndUndone(outcome, kept, command_line, signals);
}

RunOutcome RunExecution::Execute(const std::string& run_id, const SignalWatch& signals) {
  EventFile events(StrCat(run_.workspace->directory().run(run_id), "/", kPluginEventsName), SystemClock());
  loaded_.plugins.StoreWith(environment_.open_store);
  loaded_.plugins.TellTo(events, display_);
  display_.Expect(StageLine(loaded_.spec.stages, loaded_.graph, run_.plan));
  Mutex telling;
  std::set<std::string> told;  // stages whose counts were told
  recorder_.OnStageDone([&](std::string_view stage) {
    const Lock lock(telling);
    for (const std::string& line : CountLines(loaded_.graph, run_.plan, environment_, stage, told))
      LogInfo(line);
  });
  display_.Start();
  if (RemovesOutputs(options_)) RemoveUnneeded(environment_, run_.plan.unneeded, signals.token());
  RunOutcome outcome = executor_.Run(signals.token());
  display_.Stop();
  recorder_.OnStageDone({});
  return outcome;
}

int RunExecution::EndDone(const RunOutcome& outcome, KeptRun& kept) {
  kept.End("done", outcome, samples_);
  std::ifstream events(StrCat(run_.workspace->directory().run(kept.id()), "/", kPluginEventsName));
  PrintResults(loaded_.graph, run_.plan, environment_, ReadTrainings(events));
  for (const std::string& line : outcome.faults) PrintLine(line);
  if (run_.plan.left_out.empty()) return kExitDone;
  for (const std::string& left_out : run_.plan.left_out) LogError(StrCat(file_, ": ", left_out));
  return kExitFailed;
}

int RunExecution::EndUndone(const RunOutcome& outcome, KeptRun& kept, const std::string& command_line,
                            const SignalWatch& signals) {
  const bool cancelled = outcome.status.code() == Code::kCancelled && signals.exit_code() != 0;
  const bool of_run = outcome.lost_lease || (outcome.failures.empty() && !cancelled);
  std::vector<std::string> to_change = FailureLines(FailuresMet(outcome, true));
  if (of_run && FailsAgain(outcome.status) && !outcome.lost_lease)
    to_change.emplace_back(outcome.status.message());
  else if (of_run)
    LogError(outcome.status.message());
  kept.End(cancelled ? "cancelled" : "failed", outcome, samples_);
  const std::string kept_work =
      cancelled ? "stopped; finished units are kept" : "failed; finished work is kept";
  if (to_change.empty())
    LogInfo(StrCat(kept_work, ": `", command_line, "` goes on from there"));
  else
    LogInfo(StrCat(kept_work, ", and `", command_line, "` fails again until this is changed:"));
  for (const std::string& change : to_change) LogError(change);
  return cancelled ? signals.exit_code() : kExitFailed;
}

}  // namespace pipeline
