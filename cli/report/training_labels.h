// The scores of labels in the events of a training (plugins/train/python/labels.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pipeline {

/// A score: its member in an event, and its name for people.
struct LabelScore {
  std::string_view member, name;
};
using LabelScores = std::array<LabelScore, 4>;

inline constexpr LabelScores kClassScores = {{{"accuracy", "Accuracy"},
                                              {"balanced_accuracy", "Balanced accuracy"},
                                              {"macro_f1", "Macro F1"},
                                              {"matthews", "Matthews correlation"}}};
inline constexpr LabelScores kNumberScores = {{{"rmse", "Root mean square error"},
                                               {"mae", "Mean absolute error"},
                                               {"pearson", "Pearson correlation"},
                                               {"spearman", "Spearman correlation"}}};

/// Numbers of documents and scores that one training told about labels. Unknown numbers are NaN.
struct RecordedLabels {
  struct Score {
    std::int64_t step = 0;           // of the evaluation
    std::string name;                // the split, or the baseline
    std::array<double, 4> values{};  // of kClassScores or kNumberScores
  };
  struct Mistake {
    std::string text, label, answer;
    double measure = 0;  // nats of the label, or the error of the answer
  };

  struct Evaluation {
    std::int64_t step = 0;
    std::vector<std::string> names;                     // of the labels
    std::vector<std::vector<std::uint64_t>> confusion;  // documents [label][answer]; empty: too many labels
    std::vector<double> f1;                             // of each label
    std::vector<Mistake> mistakes;  // the documents with the least likely labels, or the greatest errors
  };

  std::vector<Score> evaluations;  // thinned out if there are many
  std::vector<Score> baselines;
  Evaluation last;
  bool numbers = false;  // labels are numbers, not classes

  const LabelScores& scores() const { return numbers ? kNumberScores : kClassScores; }
  bool empty() const { return evaluations.empty(); }
};

/// Takes an event; passes over those that tell nothing about labels.
void TakeLabels(const Json& event, RecordedLabels& labels);

/// Drops everything after `step`.
void GoBack(std::int64_t step, RecordedLabels& labels);

/// Prepends the scores of an earlier run.
void Prepend(RecordedLabels earlier, RecordedLabels& labels);

}  // namespace pipeline
