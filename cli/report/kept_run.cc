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

constexpr std::chrono::seconds kMostSending{60}, kMostAfterAStop{10};

}  // namespace

Status KeptRun::Begin(const std::string& command, const LoadedPipeline& loaded, const Plan& plan,
                      const Snapshot& snapshot, const RunOptions& options) {
  line_.started = SystemClock().UnixMillis();
  line_.pid = static_cast<std::uint32_t>(getpid());
  line_.id = StrCat(line_.started, "-", line_.pid);
  line_.command = command;
  RETURN_IF_ERROR(location_.log().AppendRun(line_));

  RecordedBegin begin;
  begin.id = line_.id;
  begin.pipeline = loaded.spec.name;
  begin.command = line_.command;
  begin.started = line_.started;
  begin.threads = static_cast<std::uint64_t>(options.threads);
  begin.memory_limit = options.memory_bytes;
  DescribeMachine(loaded.graph, begin);
  const std::string directory = location_.directory().run(line_.id);
  stages_ = StagesOf(loaded.graph, plan, snapshot, directory);
  AddRecipes(loaded.graph, plan, SecretsIn(loaded.spec.variables), stages_);
  existing_ = ExistingCounts(plan, snapshot);
  recorder_.Begin(directory, begin, stages_);
  recorder_.AddExisting(existing_);
  return {};
}

void KeptRun::End(const std::string& outcome, const RunOutcome& run, SampleCollector& samples) {
  line_.ended = SystemClock().UnixMillis();
  line_.outcome = outcome;
  if (const Status ended = location_.log().AppendRun(line_); !ended.ok()) LogWarning(ended.message());
  std::vector<std::pair<std::string, std::string>> failures;
  for (const UnitFailure& failure : run.failures)
    failures.emplace_back(failure.unit, std::string(failure.why.message()));
  if (failures.empty() && outcome == "failed") failures.emplace_back("", std::string(run.status.message()));
  if (!recorder_.End(outcome, std::move(failures), Closing(samples))) return;
  const Result<std::string> page = WriteReport(location_.directory(), location_.log(), line_.id);
  if (page.ok())
    LogInfo(StrCat("report: ", *page));
  else
    LogWarning(StrCat("no report of this run: ", page.status().message()));
  Send(outcome == "cancelled" ? kMostAfterAStop : kMostSending);
}

void KeptRun::Send(std::chrono::seconds most) {
  if (!location_.environment().has_scratch) return;
  const TimeLimit limit(most, {});
  Status sent = location_.log().Flush(limit.token());
  if (sent.ok()) {
    Result<std::unique_ptr<Store>> home = location_.environment().work_store("");
    sent = home.ok() ? SendRun(location_.directory(), line_.id, **home, limit.token()) : home.status();
  }
  if (!sent.ok()) LogWarning(StrCat("the record of this run did not reach its home: ", sent.message()));
}

std::string KeptRun::Closing(SampleCollector& samples) {
  RunRecord record;
  record.stages = stages_;
  // If it cannot be opened, the record has no examples.
  if (const Result<std::unique_ptr<Store>> work = location_.environment().work_store(""); work.ok())
    AddOutcome(location_.log(), **work, record);
  AddExisting(existing_, record);
  std::string lines;
  for (const auto& [stage, text] : samples.Take()) lines += EncodeEvent(stage, text);
  for (const auto& [stage, counts] : record.counts) lines += EncodeEvent(stage, counts);
  for (const RecordedExample& example : record.examples) lines += EncodeEvent(example);
  return lines;
}

}  // namespace pipeline
