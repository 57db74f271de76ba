// The events about a training that a report shows, from plugin_events.jsonl.
#pragma once

#include <array>
#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

/// Numbers of documents and scores that one training told about labels (plugins/train/python/labels.md).
/// Unknown numbers are NaN.
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

/// The training of one stage. Unknown numbers are NaN.
struct RecordedTraining {
  struct Step {
    std::int64_t step = 0;
    double loss = 0;
    double tokens_per_s = 0;
  };
  struct Score {
    std::int64_t step = 0;  // of the evaluation
    std::string name;       // the split, or the baseline
    double loss = 0;        // nats per token
    double bits_per_byte = 0;
    double bits_per_char = 0;
  };
  struct Sample {
    std::int64_t step = 0;
    std::string prompt;
    std::string text;
  };

  std::string stage;
  std::string objective;       // name of what the model learns to predict; empty: unknown
  std::int64_t attempt = 0;    // of the last step or evaluation
  std::int64_t restored = -1;  // step of the first checkpoint that it resumed from; -1: none
  std::vector<Step> steps;     // thinned out if there are many
  std::vector<Score> evaluations;
  std::vector<Score> baselines;
  std::vector<Sample> samples;  // the last ones
  RecordedLabels labels;
  std::map<std::string, double> goodput;  // seconds, or shares, by activity
};

/// Drops the events after `step` from `training`: it went back to that step.
void GoBack(std::int64_t step, RecordedTraining& training);

/// Prepends the events of an earlier run, up to the checkpoint that `training` resumed from.
void Prepend(RecordedTraining earlier, RecordedTraining& training);

/// Reads lines of EventFile; skips malformed lines and unknown events. Returns only stages that trained.
/// Memory does not depend on the number of lines.
std::vector<RecordedTraining> ReadTrainings(std::istream& lines);

/// Tells how good a trained model is, in a sentence for people who have seen no such number before. Compares
/// the last evaluation with the best that knows no more than simple counts, and says which direction is
/// better. Empty: the events tell no score of the model.
std::string QualityOf(const RecordedTraining& training);

}  // namespace pipeline
