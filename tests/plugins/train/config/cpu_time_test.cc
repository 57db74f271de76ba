#include "plugins/train/config/cpu_time.h"

#include <gtest/gtest.h>

#include <string>

namespace pipeline {
namespace {

Json Question(const std::string& preset, std::int64_t steps) {
  Json question;
  question["config"]["preset"] = preset;
  question["seq_len"] = 1024;
  question["vocab"] = 32'000;
  question["steps"] = steps;
  return question;
}

TEST(CpuTimeTest, TheOperationsAreThoseOfTheCompiledStep) {
  struct Known {
    const char* preset;
    double tflop;  // plugins/train/tpu_fit.md
    double million_parameters;
  };
  for (const Known& known : {Known{"ja-0.1b", 187, 109}, Known{"ja-1b", 3'175, 967}, Known{"lm1b", 60, 51}}) {
    const std::optional<CpuTime> time = CpuTimeOf(Question(known.preset, 1), 1);
    ASSERT_TRUE(time) << known.preset;
    EXPECT_NEAR(time->step_seconds * 40e9 / 1e12 / known.tflop, 1, 0.1) << known.preset;
    EXPECT_NEAR(static_cast<double>(time->parameters) / 1e6 / known.million_parameters, 1, 0.1)
        << known.preset;
  }
}

TEST(CpuTimeTest, OnlyATrainingOfMonthsIsNamed) {
  const std::optional<CpuTime> large = CpuTimeOf(Question("ja-1b", 20'000), 2);
  ASSERT_TRUE(large);
  const std::string warning = CpuWarning(*large, 2);
  EXPECT_NE(warning.find("(2 cores) 20000 steps take 25 years at best"), std::string::npos) << warning;
  const std::optional<CpuTime> small = CpuTimeOf(Question("quickstart", 2'000), 2);
  ASSERT_TRUE(small);
  EXPECT_EQ(CpuWarning(*small, 2), "");
}

TEST(CpuTimeTest, KeysCountBesideThePreset) {
  Json question = Question("ja-0.1b", 1);
  question["config"]["batch"]["rows"] = 8;
  const std::optional<CpuTime> time = CpuTimeOf(question, 1);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->rows, 8);
  EXPECT_NE(CpuAnswer(*time, 1).find("8 rows of 1024 ids a step"), std::string::npos) << CpuAnswer(*time, 1);
}

TEST(CpuTimeTest, ASmallStepHasAFloorAndUnknownRowsNoAnswer) {
  Json question = Question("tiny", 1);
  question["config"]["batch"]["rows"] = 1;
  question["seq_len"] = 2;
  EXPECT_EQ(CpuTimeOf(question, 64)->step_seconds, 0.002);
  Json unknown{Json::Object{}};
  EXPECT_FALSE(CpuTimeOf(unknown, 1));
}

}  // namespace
}  // namespace pipeline
