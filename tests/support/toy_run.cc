#include "tests/support/toy_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/str.h"
#include "cli/workspace/workspace.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/plan/planner.h"
#include "dag/plan/unneeded_outputs.h"
#include "dag/run/executor.h"
#include "dag/run/job_unit.h"
#include "tests/support/silent_progress.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

class Notes final : public SilentProgress {
 public:
  void Note(std::string_view line) override {
    const std::scoped_lock lock(mutex_);
    lines_.emplace_back(line);
  }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// "done tokens/0000-00000" of each line about a unit in what was appended to the log.
std::vector<std::string> UnitsIn(std::string_view log) {
  std::vector<std::string> units;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    const std::string_view kind = line.substr(0, line.find('\t'));
    constexpr std::string_view kUnit = "\tunit=";
    const std::size_t at = line.find(kUnit);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + kUnit.size());
    units.push_back(StrCat(kind, " ", rest.substr(0, rest.find('\t'))));
  }
  std::sort(units.begin(), units.end());
  return units;
}

}  // namespace

int ToyOutcome::Count(std::string_view prefix) const {
  return static_cast<int>(std::count_if(units.begin(), units.end(),
                                        [&](const std::string& unit) { return unit.starts_with(prefix); }));
}

ToyPlace::ToyPlace() {
  for (int file = 0; file < 3; ++file) {
    std::string text;
    for (int document = 0; document < 8; ++document) {
      for (int line = 0; line < 4; ++line)
        text += StrCat("line ", (file * 8 + document) * 7919 % 97, " ", line, "\n");
      text += "\n";
    }
    WriteFile(dir_ / StrCat("corpus-", file, ".txt"), text);
  }
}

ToyOutcome ToyPlace::Run(std::string_view stages, const Selection& selection, int keep_going,
                         ExecutionMode mode, const std::string& unit) {
  ToyOutcome outcome;
  const Registry registry = ToyRegistry(hand);
  const std::string file = StrCat("pipe: 1\nname: toy\nvars: { out: ", dir_ / "out",
                                  " }\nstages:\n  source: { type: download, url: \"", dir_ / "corpus-*.txt",
                                  "\" }\n  lines: { type: decompress, input: source, partition: 120",
                                  rules.empty() ? "" : StrCat(", rules: \"", rules, "\""),
                                  " }\n"
                                  "  docs: { type: split, input: lines, splits: { train: rest } }\n",
                                  stages);
  ParsedPipeline parsed = ParsePipeline(file, "toy.yaml", registry, {});
  for (const Mistake& mistake : parsed.mistakes) ADD_FAILURE() << ToString(mistake, "toy.yaml");
  if (!parsed.spec) return outcome;
  std::vector<Mistake> mistakes;
  const Graph graph = Graph::Build(parsed.spec->stages, mistakes, &registry);
  Notes notes;
  auto workspace = Workspace::Open({dir_ / "work"}, Workspace::Access::kWrite, notes);
  EXPECT_TRUE(workspace.ok()) << workspace.status().message();
  const auto snapshot = (*workspace)->TakeSnapshot(graph, *parsed.spec, {});
  EXPECT_TRUE(snapshot.ok()) << snapshot.status().message();
  const Result<Plan> plan = MakePlan(graph, *snapshot, StoredIn((*workspace)->environment()), selection);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  outcome.refusals = plan->refusals;
  outcome.reports = plan->reports;
  for (const PlannedSegment& segment : plan->segments)
    if (segment.state == PlannedSegment::State::kWanted)
      for (const std::string& why : segment.because)
        outcome.because.push_back(StrCat(segment.keys.stage, ": ", why));
  if (!plan->refusals.empty()) return outcome;
  const std::string log = (*workspace)->directory().log();
  const std::size_t before = ReadFile(log).size();
  RunOptions options;
  options.threads = threads;
  options.keep_going = keep_going;
  options.memory_bytes = memory;
  options.batch_bytes = 64;
  options.mode = mode;
  options.stage = unit.substr(0, unit.rfind('/'));
  options.keep_intermediates = keep_intermediates;
  options.cut_inputs = cut_inputs;
  options.least_cut_bytes = 0;
  options.scan_period = scan_period;
  Environment environment = (*workspace)->environment();
  environment.watch = watch;
  if (adjust) adjust(environment);
  Executor executor(graph, *plan, *snapshot, environment, options);
  Status ready = executor.Prepare();
  if (ready.ok() && mode != ExecutionMode::kOneUnit) ready = executor.MarkLocations({});
  if (!ready.ok()) {
    outcome.code = ready.code();
    outcome.failures.emplace_back(ready.message());
    return outcome;
  }
  if (RemovesOutputs(options)) RemoveUnneeded(environment, plan->unneeded, {});
  RunOutcome ran = mode == ExecutionMode::kOneUnit ? executor.RunUnit(unit, {}) : executor.Run({});
  outcome.code = ran.status.code();
  for (const UnitFailure& failure : ran.failures)
    outcome.failures.push_back(StrCat(failure.unit, ": ", failure.why.message()));
  outcome.refused = std::any_of(ran.failures.begin(), ran.failures.end(), [](const UnitFailure& failure) {
    return failure.why.Detail<StageRefused>() != nullptr;
  });
  if (!ran.status.ok() && ran.failures.empty()) outcome.failures.emplace_back(ran.status.message());
  for (const OfferedUnit& offer : ran.offered) {
    outcome.offered.push_back(offer.unit);
    if (offer.scanned) outcome.scanned.push_back(offer.unit);
  }
  outcome.offers = std::move(ran.offered);
  outcome.needs = ran.needs;
  outcome.notes = notes.Take();
  outcome.units = UnitsIn(ReadFile(log).substr(before));
  return outcome;
}

ToyOutcome ToyPlace::Ok(std::string_view stages, const Selection& selection) {
  ToyOutcome outcome = Run(stages, selection);
  EXPECT_EQ(outcome.code, Code::kOk);
  EXPECT_EQ(outcome.failures, std::vector<std::string>());
  EXPECT_EQ(outcome.refusals, std::vector<std::string>());
  return outcome;
}

std::vector<std::string> ToyPlace::Files(const std::string& below) const {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir_.path() / below))
    if (entry.is_regular_file() && entry.path().string().find("/.pipe/") == std::string::npos)
      files.push_back(
          StrCat(fs::relative(entry.path(), dir_.path() / below).string(), "\n", ReadFile(entry.path())));
  std::sort(files.begin(), files.end());
  return files;
}

bool ToyPlace::Logged(std::string_view text) const {
  return ReadFile(path("work/run.log")).find(text) != std::string::npos;
}

std::string ToyPlace::PartitionOutput(const std::string& stage, const std::string& name) const {
  for (const auto& entry : fs::recursive_directory_iterator(dir_.path() / "work" / "artifacts"))
    if (entry.path().filename() == name &&
        entry.path().parent_path().filename().string().starts_with(stage + "-"))
      return entry.path().string();
  ADD_FAILURE() << "no " << name << " of " << stage;
  return {};
}

}  // namespace pipeline
