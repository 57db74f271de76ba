#include "cli/report/training_quality.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str.h"
#include "cli/report/html.h"

namespace pipeline {

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
