#include "cli/report/kept_run.h"

#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/report/run_facts.h"
#include "cli/report/stage_recipes.h"
#include "cli/report/write_report.h"
#include "storage/local_store.h"

namespace pipeline {

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
}

std::string KeptRun::Closing(SampleCollector& samples) {
  RunRecord record;
  record.stages = stages_;
  LocalStore work(location_.directory().path());
  AddOutcome(location_.log(), work, record);
  AddExisting(existing_, record);
  std::string lines;
  for (const auto& [stage, text] : samples.Take()) lines += EncodeEvent(stage, text);
  for (const auto& [stage, counts] : record.counts) lines += EncodeEvent(stage, counts);
  for (const RecordedExample& example : record.examples) lines += EncodeEvent(example);
  return lines;
}

}  // namespace pipeline
