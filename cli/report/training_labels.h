// The scores of labels in the events of a training (plugins/train/python/labels.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace pipeline {

/// Numbers of documents and scores that one training told about labels. Unknown numbers are NaN.
struct RecordedLabels {
  struct Score {
    std::int64_t step = 0;  // of the evaluation
    std::string name;       // the split, or the baseline
    double accuracy = 0, balanced_accuracy = 0, macro_f1 = 0, matthews = 0;
  };
  struct Mistake {
    std::string text, label, answer;
    double nats = 0;  // of the label
  };

  struct Evaluation {
    std::int64_t step = 0;
    std::vector<std::string> names;                     // of the labels
    std::vector<std::vector<std::uint64_t>> confusion;  // documents [label][answer]; empty: too many labels
    std::vector<double> f1;                             // of each label
    std::vector<Mistake> mistakes;                      // the documents with the least likely labels
  };

  std::vector<Score> evaluations;  // thinned out if there are many
  std::vector<Score> baselines;
  Evaluation last;

  bool empty() const { return evaluations.empty(); }
};

/// Takes an event; passes over those that tell nothing about labels.
void TakeLabels(const Json& event, RecordedLabels& labels);

/// Drops everything after `step`.
void GoBack(std::int64_t step, RecordedLabels& labels);

/// Prepends the scores of an earlier run.
void Prepend(RecordedLabels earlier, RecordedLabels& labels);

}  // namespace pipeline
