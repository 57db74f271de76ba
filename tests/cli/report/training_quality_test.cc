#include <gtest/gtest.h>

#include <sstream>

#include "cli/report/training_record.h"

namespace pipeline {
namespace {

std::string QualityOfEvents(const std::string& events) {
  std::string lines;
  std::istringstream each(events);
  for (std::string event; std::getline(each, event);)
    lines += "{\"stage\": \"train\", \"event\": " + event + "}\n";
  std::istringstream read(lines);
  const std::vector<RecordedTraining> trainings = ReadTrainings(read);
  return trainings.empty() ? "no training" : QualityOf(trainings.front());
}

constexpr const char* kCounts =
    R"({"kind": "baseline", "name": "uniform", "nats_per_token": 7.6, "bits_per_char": 8.25}
{"kind": "baseline", "name": "bigram_kn", "nats_per_token": 4.81, "bits_per_char": 5.173}
)";

TEST(TrainingQualityTest, TextStandsBesideTheBestCounts) {
  EXPECT_EQ(
      QualityOfEvents(std::string(kCounts) +
                      R"({"kind": "eval", "step": 5, "split": "validation", "loss": 5.9, "bits_per_char": 6.5}
{"kind": "eval", "step": 9, "split": "validation", "loss": 4.1, "bits_per_char": 4.25})"),
      "4.250 bits for a character of text that it has not seen, where counts of which token follows which "
      "need "
      "5.173 (lower is better)");
  EXPECT_EQ(QualityOfEvents(
                std::string(kCounts) +
                R"({"kind": "eval", "step": 9, "split": "validation", "loss": 5.5, "bits_per_char": 5.9})"),
            "5.900 bits for a character of text that it has not seen, where counts of which token follows "
            "which need "
            "5.173 (lower is better): it has learnt no more than that yet");
}

TEST(TrainingQualityTest, LossWithoutCharactersIsInNats) {
  EXPECT_EQ(
      QualityOfEvents(std::string(kCounts) + R"({"kind": "eval", "step": 9, "split": "v", "loss": 4.25})"),
      "4.250 nats for a token of text that it has not seen, where counts of which token follows which need "
      "4.810 "
      "(lower is better)");
}

TEST(TrainingQualityTest, LabelsStandBesideTheSameAnswerAlways) {
  EXPECT_EQ(
      QualityOfEvents(
          R"({"kind": "baseline", "name": "majority", "accuracy": 0.762, "balanced_accuracy": 0.5, "macro_f1": 0.433, "matthews": 0}
{"kind": "eval", "step": 9, "split": "test", "loss": 0.4, "labels": ["a", "b"], "documents": 10, "accuracy": 0.864, "balanced_accuracy": 0.78, "macro_f1": 0.797, "matthews": 0.6})"),
      "a macro F1 of 0.797 on documents that it has not seen, where always the same answer has 0.433 (higher "
      "is "
      "better, at most 1)");
}

TEST(TrainingQualityTest, NumbersStandBesideTheirMean) {
  EXPECT_EQ(
      QualityOfEvents(
          R"({"kind": "baseline", "name": "mean", "rmse": 1.02, "mae": 0.9, "pearson": null, "spearman": null}
{"kind": "eval", "step": 9, "split": "test", "loss": 0.4, "documents": 10, "rmse": 0.81, "mae": 0.7, "pearson": 0.6, "spearman": 0.6})"),
      "a root mean square error of 0.810 on documents that it has not seen, where always the mean has 1.020 "
      "(lower is "
      "better)");
}

TEST(TrainingQualityTest, WithoutEvaluationTheLossIsThatOfItsOwnText) {
  EXPECT_EQ(QualityOfEvents(R"({"kind": "step", "step": 9, "loss": 3.25})"),
            "a loss of 3.250 at step 9 on text that it learns from (lower is better)");
  EXPECT_EQ(QualityOfEvents(R"({"kind": "step", "step": 9, "loss": null})"), "");
}

}  // namespace
}  // namespace pipeline
