#include "cli/report/training_record.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "cli/report/html.h"

namespace pipeline {

namespace {

constexpr std::size_t kSteps = 1000;  // during the reading at most twice as many
constexpr std::size_t kScores = 200;
constexpr std::size_t kSamples = 24;
constexpr std::size_t kTrainings = 16;
constexpr std::size_t kLabels = 100;
constexpr std::size_t kMistakes = 20;
constexpr std::size_t kMostEventText = 2000;  // bytes of a prompt, a sample or a document

// Another program wrote the events: each member may be absent or of another type.

/// NaN if `value` is no number.
double NumberOf(const Json& value) {
  return value.is_number() ? value.AsDouble() : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t StepOf(const Json& event) { return std::max<std::int64_t>(event["step"].AsInt(), 0); }

std::string TextOf(const Json& value) { return std::string(value.AsString().substr(0, kMostEventText)); }

/// If there are too many items, keeps every second one, so that all parts of a long training stay visible.
template <class Item>
void Thin(std::vector<Item>& items, std::size_t most) {
  if (items.size() < 2 * most) return;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < items.size(); at += 2) items[kept++] = std::move(items[at]);
  items.resize(kept);
}

/// A trainer that starts again repeats its baselines.
template <class Score>
void TakeBaseline(Score score, std::vector<Score>& baselines) {
  std::erase_if(baselines, [&](const Score& other) { return other.name == score.name; });
  if (baselines.size() < kScores) baselines.push_back(std::move(score));
}

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

/// Passes over events that tell nothing about labels.
void TakeLabels(const Json& event, RecordedLabels& labels) {
  const std::string_view kind = event["kind"].AsString();
  const auto tells = [&event](const LabelScores& scores) { return event[scores[0].member].is_number(); };
  const bool scores = tells(kClassScores) || tells(kNumberScores);
  if ((kind == "eval" || kind == "baseline") && scores) labels.numbers = tells(kNumberScores);
  if (kind == "eval" && scores) {
    labels.evaluations.push_back(ScoreOf(event, "split", labels.scores()));
    Thin(labels.evaluations, kScores);
    labels.last = {};
    labels.last.step = StepOf(event);
    TakeConfusion(event, labels.last);
  } else if (kind == "baseline" && scores) {
    TakeBaseline(ScoreOf(event, "name", labels.scores()), labels.baselines);
  } else if (kind == "mistakes" && StepOf(event) == labels.last.step) {
    std::vector<RecordedLabels::Mistake>& mistakes = labels.last.mistakes;
    mistakes.clear();
    for (const Json& one : event["documents"].AsArray())
      if (mistakes.size() < kMistakes)
        mistakes.push_back({TextOf(one["text"]), TextOf(one["label"]), TextOf(one["answer"]),
                            NumberOf(one[labels.numbers ? "error" : "nats"])});
  }
}

RecordedTraining::Score ScoreOf(const Json& event, const char* name, const char* loss) {
  return {StepOf(event), TextOf(event[name]), NumberOf(event[loss]), NumberOf(event["bits_per_byte"]),
          NumberOf(event["bits_per_char"])};
}

void Take(const Json& event, RecordedTraining& training) {
  const std::string_view kind = event["kind"].AsString();
  // An attempt that restores nothing begins anew, or where its program knows.
  const bool tells = kind == "step" || kind == "eval";
  if (const std::int64_t attempt = event["attempt"].AsInt(); tells || kind == "restore") {
    if (tells && attempt > training.attempt) GoBack(StepOf(event) - 1, training);
    training.attempt = std::max(training.attempt, attempt);
  }
  TakeLabels(event, training.labels);
  if (kind == "step") {
    training.steps.push_back({StepOf(event), NumberOf(event["loss"]), NumberOf(event["tokens_per_s"])});
    Thin(training.steps, kSteps);
  } else if (kind == "eval") {
    training.evaluations.push_back(ScoreOf(event, "split", "loss"));
    Thin(training.evaluations, kScores);
  } else if (kind == "baseline" && event.Has("nats_per_token")) {
    TakeBaseline(ScoreOf(event, "name", "nats_per_token"), training.baselines);
  } else if (kind == "sample") {
    training.samples.push_back({StepOf(event), TextOf(event["prompt"]), TextOf(event["text"])});
    if (training.samples.size() > kSamples) training.samples.erase(training.samples.begin());
  } else if (kind == "restore" && event["step"].is_int()) {
    if (training.steps.empty() && training.restored < 0) training.restored = StepOf(event);
    GoBack(StepOf(event), training);
  } else if (kind == "rewind" && event["to"].is_int()) {
    GoBack(event["to"].AsInt(), training);
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
  std::erase_if(training.labels.evaluations, later);
  if (training.labels.last.step > step) training.labels.last = {};
}

void Prepend(RecordedTraining earlier, RecordedTraining& training) {
  GoBack(training.restored, earlier);
  const auto join = [](auto& first, auto& then, std::size_t most) {
    first.insert(first.end(), std::make_move_iterator(then.begin()), std::make_move_iterator(then.end()));
    Thin(first, most);
    then = std::move(first);
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
  RecordedLabels &labels = training.labels, &before = earlier.labels;
  if (labels.evaluations.empty()) labels.last = std::move(before.last);
  if (labels.empty()) labels.numbers = before.numbers;
  if (labels.baselines.empty()) labels.baselines = std::move(before.baselines);
  join(before.evaluations, labels.evaluations, kScores);
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

namespace {

constexpr int kDigits = 3;

/// The baselines and their knowledge, the best one first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kBaselines = {
    {{"bigram_kn", "counts of which token follows which"},
     {"unigram", "counts of single tokens"},
     {"uniform", "equal chances of all tokens"}}};

template <typename T>
const T* Named(const std::vector<T>& scores, std::string_view name) {
  const auto found =
      std::find_if(scores.begin(), scores.end(), [&](const T& score) { return score.name == name; });
  return found == scores.end() ? nullptr : &*found;
}

std::string OfText(const RecordedTraining& training) {
  const RecordedTraining::Score& last = training.evaluations.back();
  const bool in_bits = std::isfinite(last.bits_per_char);
  const auto cost = [in_bits](const RecordedTraining::Score& score) {
    return in_bits ? score.bits_per_char : score.loss;
  };
  if (!std::isfinite(cost(last))) return {};
  std::string text =
      StrCat(Fixed(cost(last), kDigits), in_bits ? " bits for a character" : " nats for a token",
             " of text that it has not seen");
  for (const auto& [name, knows] : kBaselines) {
    const RecordedTraining::Score* const baseline = Named(training.baselines, name);
    if (baseline == nullptr || !std::isfinite(cost(*baseline))) continue;
    text += StrCat(", where ", knows, " need ", Fixed(cost(*baseline), kDigits));
    return StrCat(text, " (lower is better",
                  cost(last) < cost(*baseline) ? ")" : "): it has learnt no more than that yet");
  }
  return text + " (lower is better)";
}

/// Classes are compared by their macro F1, which is not better for the answer that is right most often; of
/// numbers by their error.
std::string OfLabels(const RecordedLabels& labels) {
  const std::size_t shown = labels.numbers ? 0 : 2;
  const double last = labels.evaluations.back().values[shown];
  if (!std::isfinite(last)) return {};
  std::string text = StrCat(labels.numbers ? "a root mean square error of " : "a macro F1 of ",
                            Fixed(last, kDigits), " on documents that it has not seen");
  const RecordedLabels::Score* const baseline = Named(labels.baselines, labels.numbers ? "mean" : "majority");
  const bool is_known = baseline != nullptr && std::isfinite(baseline->values[shown]);
  if (is_known)
    text += StrCat(", where always ", labels.numbers ? "the mean has " : "the same answer has ",
                   Fixed(baseline->values[shown], kDigits));
  text += labels.numbers ? " (lower is better" : " (higher is better, at most 1";
  const bool is_better =
      !is_known || (labels.numbers ? last < baseline->values[shown] : last > baseline->values[shown]);
  return StrCat(text, is_better ? ")" : "): it has learnt no more than that yet");
}

}  // namespace

std::string QualityOf(const RecordedTraining& training) {
  if (!training.labels.empty()) return OfLabels(training.labels);
  if (!training.evaluations.empty()) return OfText(training);
  if (training.steps.empty() || !std::isfinite(training.steps.back().loss)) return {};
  return StrCat("a loss of ", Fixed(training.steps.back().loss, kDigits), " at step ",
                training.steps.back().step, " on text that it learns from (lower is better)");
}

}  // namespace pipeline
