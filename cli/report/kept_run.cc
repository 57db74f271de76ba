#include "cli/report/kept_run.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time_limit.h"
#include "cli/report/run_facts.h"
#include "cli/report/stage_recipes.h"
#include "cli/report/write_report.h"
#include "cli/workspace/books.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kMostAfterAStop{10};

}  // namespace

RunBeginning DescribeRun(const RunLine& line, const LoadedPipeline& loaded, const Plan& plan,
                         const Snapshot& snapshot, const RunOptions& options, const std::string& directory) {
  RunBeginning made;
  made.begin.id = line.id;
  made.begin.pipeline = loaded.spec.name;
  made.begin.command = line.command;
  made.begin.started = line.started;
  made.begin.threads = static_cast<std::uint64_t>(options.threads);
  made.begin.memory_limit = options.memory_bytes;
  DescribeMachine(loaded.graph, made.begin);
  made.stages = StagesOf(loaded.graph, plan, snapshot, directory);
  AddRecipes(loaded.graph, plan, SecretsIn(loaded.spec.variables), made.stages);
  made.existing = ExistingCounts(plan, snapshot);
  return made;
}

void SendRecord(Workspace& workspace, const std::string& id, std::chrono::seconds most) {
  if (!workspace.environment().has_scratch) return;
  const TimeLimit limit(most, {});
  Status sent = workspace.log().Flush(limit.token());
  if (sent.ok()) {
    Result<std::unique_ptr<Store>> home = workspace.environment().work_store("");
    sent = home.ok() ? SendRun(workspace.directory(), id, **home, limit.token()) : home.status();
  }
  if (!sent.ok()) LogWarning(StrCat("the record of this run did not reach its home: ", sent.message()));
}

RunLine NewRunLine(std::string command) {
  RunLine line;
  line.started = SystemClock().UnixMillis();
  line.pid = static_cast<std::uint32_t>(getpid());
  line.id = StrCat(line.started, "-", line.pid);
  line.command = std::move(command);
  return line;
}

Status KeptRun::Begin(const std::string& command, const LoadedPipeline& loaded, const Plan& plan,
                      const Snapshot& snapshot, const RunOptions& options) {
  line_ = NewRunLine(command);
  RETURN_IF_ERROR(location_.log().AppendRun(line_));

  const std::string directory = location_.directory().run(line_.id);
  beginning_ = DescribeRun(line_, loaded, plan, snapshot, options, directory);
  recorder_.Begin(directory, beginning_.begin, beginning_.stages);
  recorder_.AddExisting(beginning_.existing);
  return {};
}

void KeptRun::End(const std::string& outcome, const RunOutcome& run, SampleCollector& samples) {
  line_.ended = SystemClock().UnixMillis();
  line_.outcome = outcome;
  if (const Status ended = location_.log().AppendRun(line_); !ended.ok()) LogWarning(ended.message());
  std::vector<RecordedFailure> failures;
  for (const UnitFailure& failure : run.failures)
    failures.push_back({failure.unit, std::string(failure.why.message())});
  if (failures.empty() && outcome == "failed") failures.push_back({"", std::string(run.status.message())});
  if (!recorder_.End(outcome, std::move(failures), Closing(samples))) return;
  const Result<std::string> page = WriteReport(location_.directory(), location_.log(), line_.id);
  if (page.ok())
    LogInfo(StrCat("report: ", *page));
  else
    LogWarning(StrCat("no report of this run: ", page.status().message()));
  SendRecord(location_, line_.id, outcome == "cancelled" ? kMostAfterAStop : kMostSending);
}

std::string KeptRun::Closing(SampleCollector& samples) {
  RunRecord record;
  record.stages = beginning_.stages;
  // If it cannot be opened, the record has no examples.
  if (const Result<std::unique_ptr<Store>> work = location_.environment().work_store(""); work.ok())
    AddOutcome(location_.log(), **work, record);
  AddExisting(beginning_.existing, record);
  std::string lines;
  for (const auto& [stage, text] : samples.Take()) lines += EncodeEvent(stage, text);
  for (const auto& [stage, counts] : record.counts) lines += EncodeEvent(stage, counts);
  for (const RecordedExample& example : record.examples) lines += EncodeEvent(example);
  return lines;
}

}  // namespace pipeline
