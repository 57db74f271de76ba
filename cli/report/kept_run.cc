#include "cli/report/kept_run.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/wait.h"
#include "cli/report/run_facts.h"
#include "cli/report/write_report.h"
#include "cli/workspace/books.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kMostAfterAStop{10};

}  // namespace

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
  record_ = DescribeRun(line_, loaded, plan, snapshot, options, directory);
  recorder_.Begin(directory, EncodeBegin(record_));
  return {};
}

void KeptRun::End(const std::string& outcome, const RunOutcome& run, SampleCollector& samples) {
  line_.ended = SystemClock().UnixMillis();
  line_.outcome = outcome;
  if (const Status ended = location_.log().AppendRun(line_); !ended.ok()) LogWarning(ended.message());
  std::vector<RunEnd::Failure> failures;
  for (const UnitFailure& failure : run.failures)
    failures.push_back({failure.unit, std::string(failure.why.message())});
  if (failures.empty() && outcome == "failed") failures.push_back({"", std::string(run.status.message())});
  // If it cannot be opened, the record has no examples.
  if (const Result<std::unique_ptr<Store>> work = location_.environment().work_store(""); work.ok())
    AddOutcome(location_.log(), **work, record_);
  record_.texts = samples.Take();
  if (!recorder_.End(outcome, std::move(failures), EncodeOutcome(record_))) return;
  const Result<std::string> page = WriteReport(location_.directory(), location_.log(), line_.id);
  if (page.ok())
    LogInfo(StrCat("report: ", *page));
  else
    LogWarning(StrCat("no report of this run: ", page.status().message()));
  SendRecord(location_, line_.id, outcome == "cancelled" ? kMostAfterAStop : kMostSending);
}

}  // namespace pipeline
