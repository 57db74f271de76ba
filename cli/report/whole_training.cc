#include "cli/report/whole_training.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/str.h"
#include "cli/report/run_recorder.h"
#include "cli/terminal/event_file.h"

namespace pipeline {

namespace {

constexpr std::size_t kRunsBack = 100;

std::vector<RecordedTraining> TrainingsOf(const WorkDir& work, const std::string& id) {
  std::ifstream said(StrCat(work.run(id), "/", kPluginEventsName));
  return ReadTrainings(said);
}

/// Empty: the record does not tell.
std::string RecipeIn(const RunRecord& record, const std::string& stage) {
  for (const RecordedStage& recorded : record.stages)
    if (recorded.name == stage) return recorded.recipe;
  return {};
}

}  // namespace

std::vector<RecordedTraining> FindTrainings(const WorkDir& work, const RunLog& log, const std::string& id,
                                            const RunRecord& now) {
  std::vector<RecordedTraining> trainings = TrainingsOf(work, id);
  const auto goes_on = [](const RecordedTraining& training) { return training.restored > 0; };
  const std::vector<RunLine> runs = log.Runs();
  const auto self = std::find_if(runs.begin(), runs.end(), [&](const RunLine& run) { return run.id == id; });
  std::size_t looked_at = 0;
  for (auto run = std::make_reverse_iterator(self); run != runs.rend() && ++looked_at <= kRunsBack; ++run) {
    if (std::none_of(trainings.begin(), trainings.end(), goes_on)) break;
    std::vector<RecordedTraining> before = TrainingsOf(work, run->id);
    if (before.empty()) continue;
    const Result<RunRecord> record = ReadRecord(work, run->id);
    if (!record.ok()) continue;
    for (RecordedTraining& training : trainings) {
      const std::string recipe = RecipeIn(now, training.stage);
      if (!goes_on(training) || recipe.empty() || RecipeIn(*record, training.stage) != recipe) continue;
      for (RecordedTraining& earlier : before)
        if (earlier.stage == training.stage) Prepend(std::move(earlier), training);
    }
  }
  return trainings;
}

}  // namespace pipeline
