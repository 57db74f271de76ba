#include "cli/report/training_record.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "cli/report/training_event.h"

namespace pipeline {

namespace {

constexpr std::size_t kSteps = 1000;  // during the reading at most twice as many
constexpr std::size_t kScores = 200;
constexpr std::size_t kSamples = 24;
constexpr std::size_t kTrainings = 16;

RecordedTraining::Score ScoreOf(const Json& event, const char* name, const char* loss) {
  return {StepOf(event), TextOf(event[name]), NumberOf(event[loss]), NumberOf(event["bits_per_byte"]),
          NumberOf(event["bits_per_char"])};
}

void Take(const Json& event, RecordedTraining& training) {
  const std::string_view kind = event["kind"].AsString();
  TakeLabels(event, training.labels);
  if (kind == "step") {
    training.steps.push_back({StepOf(event), NumberOf(event["loss"]), NumberOf(event["tokens_per_s"])});
    Thin(training.steps, kSteps);
  } else if (kind == "eval") {
    training.evaluations.push_back(ScoreOf(event, "split", "loss"));
    Thin(training.evaluations, kScores);
  } else if (kind == "baseline" && event.Has("nats_per_token")) {
    RecordedTraining::Score score = ScoreOf(event, "name", "nats_per_token");
    const auto same = [&](const RecordedTraining::Score& other) { return other.name == score.name; };
    std::erase_if(training.baselines, same);  // a trainer that starts again repeats it
    if (training.baselines.size() < kScores) training.baselines.push_back(std::move(score));
  } else if (kind == "sample") {
    training.samples.push_back({StepOf(event), TextOf(event["prompt"]), TextOf(event["text"])});
    if (training.samples.size() > kSamples) training.samples.erase(training.samples.begin());
  } else if (kind == "restore" && event["step"].is_int()) {
    if (training.steps.empty() && training.restored < 0) training.restored = StepOf(event);
    GoBack(StepOf(event), training);
  } else if (kind == "extend" && event["to"].is_int()) {
    const std::int64_t to = std::max<std::int64_t>(event["to"].AsInt(), 0);
    if (training.steps.empty()) training.restored = to;
    GoBack(to, training);
  } else if (kind == "hello") {
    training.objective = TextOf(event["config"]["objective"]["name"]);
  } else if (kind == "bye") {
    const Json& goodput = event["summary"]["goodput"];
    for (const auto& [name, value] : (goodput.Has("seconds") ? goodput["seconds"] : goodput).AsObject())
      if (value.is_number() && value.AsDouble() >= 0 && training.goodput.size() < kScores)
        training.goodput[name] = value.AsDouble();
  }
}

}  // namespace

void GoBack(std::int64_t step, RecordedTraining& training) {
  const auto later = [step](const auto& item) { return item.step > step; };
  std::erase_if(training.steps, later);
  std::erase_if(training.evaluations, later);
  std::erase_if(training.samples, later);
  GoBack(step, training.labels);
}

void Prepend(RecordedTraining earlier, RecordedTraining& training) {
  GoBack(training.restored, earlier);
  const auto join = [](auto& before, auto& after, std::size_t most) {
    before.insert(before.end(), std::make_move_iterator(after.begin()), std::make_move_iterator(after.end()));
    Thin(before, most);
    after = std::move(before);
  };
  join(earlier.steps, training.steps, kSteps);
  join(earlier.evaluations, training.evaluations, kScores);
  earlier.samples.insert(earlier.samples.end(), training.samples.begin(), training.samples.end());
  if (earlier.samples.size() > kSamples)
    earlier.samples.erase(earlier.samples.begin(),
                          earlier.samples.end() - static_cast<std::ptrdiff_t>(kSamples));
  training.samples = std::move(earlier.samples);
  for (RecordedTraining::Score& score : earlier.baselines) {
    const auto same = [&](const RecordedTraining::Score& other) { return other.name == score.name; };
    if (std::none_of(training.baselines.begin(), training.baselines.end(), same) &&
        training.baselines.size() < kScores)
      training.baselines.push_back(std::move(score));
  }
  Prepend(std::move(earlier.labels), training.labels);
  for (const auto& [name, value] : earlier.goodput) training.goodput[name] += value;
  training.restored = earlier.restored;
}

std::vector<RecordedTraining> ReadTrainings(std::istream& lines) {
  std::vector<RecordedTraining> trainings;
  for (std::string line; std::getline(lines, line);) {
    const Result<Json> json = Json::Parse(line);
    if (!json.ok()) continue;  // the run was killed while it wrote the line
    // All workers tell the same; only the first one counts.
    if ((*json)["event"]["worker"].AsInt() != 0) continue;
    const std::string stage = TextOf((*json)["stage"]);
    const auto is_it = [&](const RecordedTraining& other) { return other.stage == stage; };
    auto training = std::find_if(trainings.begin(), trainings.end(), is_it);
    if (training == trainings.end()) {
      if (trainings.size() == kTrainings) continue;
      training = trainings.emplace(trainings.end());
      training->stage = stage;
    }
    Take((*json)["event"], *training);
  }
  std::erase_if(trainings, [](const RecordedTraining& training) {
    return training.steps.empty() && training.evaluations.empty() && training.restored < 0;
  });
  return trainings;
}

}  // namespace pipeline
