#include "plugins/train/external/output_recogniser.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

ExternalSettings Patterns(bool loss) {
  ExternalSettings settings;
  settings.step = *LinePattern::Compile("step ([0-9]+)");
  if (loss) settings.loss = *LinePattern::Compile("loss ([-+.0-9a-z]+)");
  return settings;
}

TEST(OutputRecogniserTest, LinesMayArriveInPieces) {
  const ExternalSettings settings = Patterns(true);
  OutputRecogniser recogniser(settings, 1);
  recogniser.Feed("step 1 lo", 0s);
  recogniser.Feed("ss 2.5\rstep 2\0\nloss 2.25\nloss no\n"sv, 0s);
  const OutputRecogniser::Heard heard = recogniser.Take();
  EXPECT_TRUE(heard.lines);
  ASSERT_EQ(heard.steps.size(), 2u);
  EXPECT_EQ(heard.steps[0].step, 1);
  EXPECT_EQ(heard.steps[0].loss, 2.5);
  EXPECT_EQ(heard.steps[1].step, 2) << "the loss is on a line of its own";
  EXPECT_EQ(heard.steps[1].loss, 2.25);
  EXPECT_FALSE(recogniser.Take().lines);
  EXPECT_EQ(recogniser.Take().step, 2);
}

TEST(OutputRecogniserTest, LongLinesAndFloodsAreCut) {
  const ExternalSettings settings = Patterns(false);
  OutputRecogniser recogniser(settings, 1);
  recogniser.Feed(std::string(1 << 20, 'x') + "step 9\nstep 10\n", 0s);
  for (int step = 11; step < 2000; ++step) recogniser.Feed("step " + std::to_string(step) + "\n", 0s);
  const OutputRecogniser::Heard heard = recogniser.Take();
  ASSERT_EQ(heard.steps.size(), OutputRecogniser::kMostSteps);
  EXPECT_EQ(heard.steps.front().step, 10);
  EXPECT_EQ(heard.steps.back().step, 1999);
}

TEST(OutputRecogniserTest, StepsAreThinnedByNumberOrTime) {
  const ExternalSettings settings = Patterns(false);
  OutputRecogniser recogniser(settings, 50);
  recogniser.Feed("step 1\nstep 2\nstep 51\nstep 52\n", 0s);
  recogniser.Feed("step 53\n", 1s);
  recogniser.Feed("step 7\n", 1s);
  std::vector<std::int64_t> steps;
  for (const auto& step : recogniser.Take().steps) steps.push_back(step.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 51, 53, 7}));
  recogniser.Feed("step 8\nstep 9", 1s);
  EXPECT_TRUE(recogniser.Take().steps.empty());
  recogniser.End(1s);
  const OutputRecogniser::Heard last = recogniser.Take();
  ASSERT_EQ(last.steps.size(), 1u);
  EXPECT_EQ(last.steps.front().step, 9) << "the last one, though its line is unfinished";
}

}  // namespace
}  // namespace pipeline
