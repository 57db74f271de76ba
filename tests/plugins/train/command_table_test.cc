#include "plugins/train/command_table.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

Result<CommandWords> Parsed(const std::vector<std::string>& words) {
  return ParseCommandWords(TrainCommandOf("export"), words);
}

std::string Refusal(const std::vector<std::string>& words) {
  return std::string(Parsed(words).status().message());
}

TEST(CommandWordsTest, ASwitchHasNoValue) {
  const auto words = Parsed({"--int8", "run", "--step", "40"});
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(words->alone, std::vector<std::string>{"run"});
  EXPECT_TRUE(words->flags.contains("--int8"));
  EXPECT_EQ(WholeFlag(*words, "--step"), 40);
  EXPECT_EQ(WholeFlag(*words, "--prune"), std::nullopt);
  EXPECT_EQ(Refusal({"run", "--int8=true"}), "--int8 takes no value");
}

TEST(CommandWordsTest, AValueIsOneOfTheChoices) {
  EXPECT_TRUE(Parsed({"run", "--gguf", "both"}).ok());
  EXPECT_EQ(Refusal({"run", "--gguf", "q4"}), "--gguf: 'q4' is none of f16, q8_0, both");
  EXPECT_EQ(Refusal({"run", "--gguf"}), "--gguf wants a value");
}

TEST(CommandWordsTest, TheUsageHasRequiredFlagsWithoutBrackets) {
  EXPECT_TRUE(UsageOf(TrainCommandOf("export"))
                  .starts_with("pipe export RUN --out DIR [--step N] [--int8] [--gguf f16|"));
}

}  // namespace
}  // namespace pipeline
