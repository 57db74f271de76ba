#include "cli/report/training_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/str.h"
#include "cli/report/report_page.h"

namespace pipeline {
namespace {

std::string Line(std::string_view event, std::string_view stage = "train") {
  return StrCat(R"({"time":"2026-01-31T12:34:56Z","stage":")", stage, R"(","event":)", event, "}\n");
}

std::vector<RecordedTraining> Read(const std::string& lines) {
  std::istringstream stream(lines);
  return ReadTrainings(stream);
}

TEST(TrainingRecordTest, TakesWhatAReportShows) {
  const auto trainings = Read(
      Line(
          R"({"kind":"baseline","name":"bigram_kn","nats_per_token":4.5,"bits_per_byte":1.2,"bits_per_char":3.6})") +
      Line(R"({"kind":"step","step":50,"loss":6.5,"tokens_per_s":1200.0})") +
      Line(R"({"kind":"step","step":100,"loss":null})") +
      Line(
          R"({"kind":"eval","step":100,"split":"validation","loss":3.0,"bits_per_byte":0.9,"bits_per_char":2.6})") +
      Line(R"({"kind":"sample","step":100,"prompt":"吾輩","text":"は猫"})") +
      Line(
          R"({"kind":"bye","step":100,"summary":{"goodput":{"productive":0.9,"seconds":{"step":90.0,"init":10}}}})"));
  ASSERT_EQ(trainings.size(), 1u);
  const RecordedTraining& training = trainings[0];
  EXPECT_EQ(training.stage, "train");
  ASSERT_EQ(training.steps.size(), 2u);
  EXPECT_EQ(training.steps[0].loss, 6.5);
  EXPECT_TRUE(std::isnan(training.steps[1].loss));
  EXPECT_TRUE(std::isnan(training.steps[1].tokens_per_s));
  EXPECT_EQ(training.evaluations.at(0).bits_per_char, 2.6);
  EXPECT_EQ(training.baselines.at(0).loss, 4.5);
  EXPECT_EQ(training.samples.at(0).text, "は猫");
  EXPECT_EQ(training.goodput, (std::map<std::string, double>{{"init", 10}, {"step", 90}}));
}

TEST(TrainingRecordTest, PassesOverWhatItDoesNotKnowAndATornLine) {
  const std::string good = Line(R"({"kind":"step","step":1,"loss":2.0})");
  const auto trainings = Read("garbage\n{}\n[]\n" + Line(R"({"kind":"other"})", "another") +
                              Line(R"({"kind":"step","step":2,"loss":2.0,"worker":1})") + good +
                              good.substr(0, good.size() / 2));
  ASSERT_EQ(trainings.size(), 1u);
  EXPECT_EQ(trainings[0].steps.size(), 1u);
}

std::vector<std::int64_t> StepsOf(const RecordedTraining& training) {
  std::vector<std::int64_t> steps;
  for (const auto& step : training.steps) steps.push_back(step.step);
  return steps;
}

std::string Step(int step) { return Line(StrCat(R"({"kind":"step","step":)", step, R"(,"loss":1.5})")); }

TEST(TrainingRecordTest, WhatATrainerWentBackBehindCountsOnce) {
  const auto trainings = Read(Step(10) + Step(20) + Step(30) + Line(R"({"kind":"restore","step":20})") +
                              Step(30) + Line(R"({"kind":"extend","from":30,"to":10})") + Step(15));
  EXPECT_EQ(StepsOf(trainings.at(0)), (std::vector<std::int64_t>{10, 15}));
  EXPECT_EQ(trainings[0].restored, -1) << "it began at the beginning";
}

TEST(TrainingRecordTest, AnAttemptThatBeginsAnewReplacesTheOneBefore) {
  const auto of = [](int attempt, int step) {
    return Line(StrCat(R"({"kind":"step","attempt":)", attempt, R"(,"step":)", step, R"(,"loss":1.5})"));
  };
  const auto back = [](std::string_view kind) {
    return Line(StrCat(R"({"kind":")", kind, R"(","attempt":2,"step":20,"to":20})"));
  };
  EXPECT_EQ(StepsOf(Read(of(1, 10) + of(1, 20) + of(2, 10)).at(0)), (std::vector<std::int64_t>{10}));
  EXPECT_EQ(StepsOf(Read(of(1, 10) + of(1, 20) + of(1, 30) + back("restore") + of(2, 30)).at(0)),
            (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(StepsOf(Read(of(1, 10) + of(1, 20) + of(1, 30) + back("rewind") + of(1, 25)).at(0)),
            (std::vector<std::int64_t>{10, 20, 25}));
}

TEST(TrainingRecordTest, ResumedTrainingHasWhatCameBefore) {
  auto first = Read(Line(R"({"kind":"baseline","name":"bigram_kn","nats_per_token":4.5})") + Step(10) +
                    Step(20) + Step(30));
  auto second = Read(Line(R"({"kind":"restore","step":20})") + Step(30) + Step(40));
  EXPECT_EQ(second.at(0).restored, 20);
  Prepend(first.at(0), second[0]);
  EXPECT_EQ(StepsOf(second[0]), (std::vector<std::int64_t>{10, 20, 30, 40}));
  EXPECT_EQ(second[0].baselines.size(), 1u);
  EXPECT_EQ(second[0].restored, -1) << "nothing is missing any more";
}

TEST(TrainingRecordTest, LongTrainingIsThinnedOutAndStaysWhole) {
  std::string lines;
  for (int step = 1; step <= 10'000; ++step)
    lines += Line(StrCat(R"({"kind":"step","step":)", step, R"(,"loss":1.5})"));
  const auto trainings = Read(lines);
  EXPECT_LT(trainings.at(0).steps.size(), 2000u);
  EXPECT_GT(trainings[0].steps.size(), 500u);
  EXPECT_EQ(trainings[0].steps.front().step, 1);
  EXPECT_GT(trainings[0].steps.back().step, 9'900);
}

TEST(TrainingRecordTest, RestartSaysItsBaselinesAgainAndTheyStandOnce) {
  const std::string baseline = Line(R"({"kind":"baseline","name":"unigram","nats_per_token":6.0})");
  const auto trainings = Read(baseline + Line(R"({"kind":"step","step":1,"loss":7.0})") + baseline);
  EXPECT_EQ(trainings.at(0).baselines.size(), 1u);
}

TEST(ReportTrainingTest, NothingOfWhatIsSaidIsTakenForMarkup) {
  RecordedTraining training;
  training.stage = "<i>s</i>";
  training.steps = {{1, 5.0, 100}, {2, 4.0, 100}};
  training.samples = {{2, "<script>", "\"><img src=x>"}};
  training.baselines = {{0, "<svg>", 4.5, 1, 1}};
  training.goodput = {{"</dl>", 1.0}};
  const std::string html = TrainingSection({training});
  for (const std::string_view bad : {"<i>s", "<script>", "<img", "<svg>", "</dl></dt>"})
    EXPECT_EQ(html.find(bad), std::string::npos) << bad;
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
}

TEST(TrainingRecordTest, ScoresOfLabelsAreThoseOfTheLastEvaluation) {
  const std::string scores =
      R"("accuracy":0.75,"balanced_accuracy":0.7,"macro_f1":0.72,"matthews":0.4,"labels":["bad","good"],)";
  const std::string first = Line(StrCat(R"({"kind":"eval","step":10,"split":"validation","loss":0.5,)",
                                        scores, R"("f1":[0.5,0.8],"confusion":[[1,2],[3,4]]})"));
  const std::string told = Line(
      R"({"kind":"mistakes","step":10,"documents":[{"text":"<b>x","label":"bad","answer":"good","nats":3.5}]})");
  auto trainings =
      Read(Line(R"({"kind":"baseline","name":"majority","accuracy":0.6,"macro_f1":0.375,"matthews":0.0})") +
           Step(10) + first + told);
  const RecordedLabels& labels = trainings.at(0).labels;
  ASSERT_EQ(labels.evaluations.size(), 1u);
  EXPECT_EQ(labels.evaluations[0].values[2], 0.72);
  EXPECT_EQ(labels.last.confusion, (std::vector<std::vector<std::uint64_t>>{{1, 2}, {3, 4}}));
  EXPECT_EQ(labels.last.f1, (std::vector<double>{0.5, 0.8}));
  ASSERT_EQ(labels.last.mistakes.size(), 1u);
  EXPECT_EQ(labels.baselines.at(0).values[0], 0.6);
  EXPECT_TRUE(trainings[0].baselines.empty()) << "it is no baseline of ids";
  const std::string html = TrainingSection(trainings);
  for (const std::string_view shown :
       {"Macro F1", "0.7200", "majority", "least likely", "&lt;b&gt;x", "3.5000"})
    EXPECT_NE(html.find(shown), std::string::npos) << shown;
  EXPECT_EQ(html.find("<b>x"), std::string::npos);
  // A confusion that is no square is passed over; mistakes of another step as well.
  trainings =
      Read(first + told +
           Line(StrCat(R"({"kind":"eval","step":20,)", scores, R"("confusion":[[1,2],[3]]})")) + told);
  EXPECT_EQ(trainings.at(0).labels.evaluations.size(), 2u);
  EXPECT_TRUE(trainings[0].labels.last.confusion.empty());
  EXPECT_TRUE(trainings[0].labels.last.mistakes.empty());
  GoBack(10, trainings[0]);
  EXPECT_EQ(trainings[0].labels.evaluations.size(), 1u);
}

TEST(TrainingRecordTest, ScoresOfNumbersHaveErrorsAndNoNats) {
  const auto trainings = Read(
      Line(R"({"kind":"baseline","name":"mean","rmse":1250000.0,"mae":1.5,"pearson":0.0,"spearman":0.0})") +
      Step(10) +
      Line(
          R"({"kind":"eval","step":10,"split":"validation","loss":0.5,"rmse":0.00025,"mae":2,"pearson":0.9})") +
      Line(
          R"({"kind":"mistakes","step":10,"documents":[{"text":"x","label":"4.5","answer":"1","error":-3.5}]})"));
  const RecordedLabels& labels = trainings.at(0).labels;
  EXPECT_TRUE(labels.numbers);
  EXPECT_EQ(labels.last.mistakes.at(0).measure, -3.5);
  const std::string html = TrainingSection(trainings);
  for (const std::string_view shown :
       {"Root mean square error", "<td>1.25e+06</td>", "<td>0.00025</td>", "<td>0.9</td><td></td>", "mean",
        "greatest errors", "<td>-3.5</td>", "4.5", "mean squared error in deviations"})
    EXPECT_NE(html.find(shown), std::string::npos) << shown;
  for (const std::string_view absent : {"Macro F1", "Nats", "Perplexity", "nats per token"})
    EXPECT_EQ(html.find(absent), std::string::npos) << absent;
}

TEST(TrainingRecordTest, ResumedTrainingKeepsScoresOfLabels) {
  const std::string scores = R"("accuracy":0.5,"labels":["a","b"],"confusion":[[1,2],[3,4]]})";
  const auto first = Read(Step(10) + Line(StrCat(R"({"kind":"eval","step":10,)", scores)));
  auto second = Read(Line(R"({"kind":"restore","step":10})") + Step(20));
  Prepend(first.at(0), second.at(0));
  EXPECT_EQ(second[0].labels.evaluations.size(), 1u);
  EXPECT_EQ(second[0].labels.last.confusion.size(), 2u);
  auto third = Read(Line(R"({"kind":"restore","step":10})") + Step(20) +
                    Line(StrCat(R"({"kind":"eval","step":20,)", scores)));
  Prepend(first.at(0), third.at(0));
  EXPECT_EQ(third[0].labels.evaluations.size(), 2u);
  EXPECT_EQ(third[0].labels.last.step, 20);
}

TEST(ReportTrainingTest, CurveOfOnePointOrOfNoNumberIsNoMatter) {
  EXPECT_EQ(TrainingSection({}), "");
  RecordedTraining training;
  training.stage = "train";
  training.steps = {{7, 5.0, 100}};
  EXPECT_NE(TrainingSection({training}).find("<path class=\"line s0\" d=\"M"), std::string::npos);
  EXPECT_EQ(TrainingSection({training}).find("nan"), std::string::npos);
  training.steps[0].loss = std::nan("");
  EXPECT_NE(TrainingSection({training}).find("No loss was measured"), std::string::npos);
  training.steps = {{1, 1e300, 1}, {2, -1e300, 1}, {3, 2.0, 1}};
  EXPECT_LT(TrainingSection({training}).size(), 100'000u);
}

TEST(ReportTrainingTest, GapWhereNoLossWasMeasuredIsNotDrawnOver) {
  RecordedTraining training;
  training.stage = "train";
  training.steps = {{1, 5.0, 1}, {2, 4.5, 1}, {3, std::nan(""), 1}, {4, 4.0, 1}, {5, 3.5, 1}};
  const std::string html = TrainingSection({training});
  const std::size_t line = html.find("<path class=\"line s0\" d=\"");
  ASSERT_NE(line, std::string::npos);
  const std::string path = html.substr(line, html.find("\"/>", line) - line);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2);
}

}  // namespace
}  // namespace pipeline
