#include "cli/report/training_labels.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/report/training_event.h"

namespace pipeline {

namespace {

constexpr std::size_t kLabelScores = 200;
constexpr std::size_t kLabels = 100;
constexpr std::size_t kMistakes = 20;

RecordedLabels::Score ScoreOf(const Json& event, const char* name, const LabelScores& scores) {
  RecordedLabels::Score score{StepOf(event), TextOf(event[name]), {}};
  for (std::size_t at = 0; at < scores.size(); ++at) score.values[at] = NumberOf(event[scores[at].member]);
  return score;
}

/// Takes the confusion, if it is a square with a name for each side.
void TakeConfusion(const Json& event, RecordedLabels::Evaluation& last) {
  const Json::Array& rows = event["confusion"].AsArray();
  const Json::Array& names = event["labels"].AsArray();
  if (rows.empty() || rows.size() != names.size() || rows.size() > kLabels) return;
  for (const Json& row : rows)
    if (row.AsArray().size() != rows.size()) return;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    last.names.push_back(TextOf(names[at]));
    std::vector<std::uint64_t>& row = last.confusion.emplace_back();
    for (const Json& number : rows[at].AsArray()) row.push_back(number.AsCount());
    const Json::Array& f1 = event["f1"].AsArray();
    last.f1.push_back(NumberOf(at < f1.size() ? f1[at] : Json()));
  }
}

}  // namespace

void TakeLabels(const Json& event, RecordedLabels& labels) {
  const std::string_view kind = event["kind"].AsString();
  const auto tells = [&event](const LabelScores& scores) { return event[scores[0].member].is_number(); };
  const bool scores = tells(kClassScores) || tells(kNumberScores);
  if ((kind == "eval" || kind == "baseline") && scores) labels.numbers = tells(kNumberScores);
  if (kind == "eval" && scores) {
    labels.evaluations.push_back(ScoreOf(event, "split", labels.scores()));
    Thin(labels.evaluations, kLabelScores);
    labels.last = {};
    labels.last.step = StepOf(event);
    TakeConfusion(event, labels.last);
  } else if (kind == "baseline" && scores) {
    RecordedLabels::Score score = ScoreOf(event, "name", labels.scores());
    // A trainer that starts again repeats it.
    std::erase_if(labels.baselines, [&](const auto& other) { return other.name == score.name; });
    if (labels.baselines.size() < kLabelScores) labels.baselines.push_back(std::move(score));
  } else if (kind == "mistakes" && StepOf(event) == labels.last.step) {
    std::vector<RecordedLabels::Mistake>& mistakes = labels.last.mistakes;
    mistakes.clear();
    for (const Json& one : event["documents"].AsArray())
      if (mistakes.size() < kMistakes)
        mistakes.push_back({TextOf(one["text"]), TextOf(one["label"]), TextOf(one["answer"]),
                            NumberOf(one[labels.numbers ? "error" : "nats"])});
  }
}

void GoBack(std::int64_t step, RecordedLabels& labels) {
  std::erase_if(labels.evaluations, [step](const auto& score) { return score.step > step; });
  if (labels.last.step > step) labels.last = {};
}

void Prepend(RecordedLabels earlier, RecordedLabels& labels) {
  if (labels.evaluations.empty()) labels.last = std::move(earlier.last);
  if (labels.empty()) labels.numbers = earlier.numbers;
  if (labels.baselines.empty()) labels.baselines = std::move(earlier.baselines);
  labels.evaluations.insert(labels.evaluations.begin(), std::make_move_iterator(earlier.evaluations.begin()),
                            std::make_move_iterator(earlier.evaluations.end()));
  Thin(labels.evaluations, kLabelScores);
}

}  // namespace pipeline
