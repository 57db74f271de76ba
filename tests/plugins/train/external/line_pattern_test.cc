#include "plugins/train/external/line_pattern.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

TEST(LinePatternTest, PatternsThatCouldFillTheMemoryAreRefused) {
  for (const char* pattern :
       {"(a)++", "(a{2}){3}*", "(a)*?", "(a{100})", "(a{1,100})", "([[:digit:]]+)+?", "(a){2"})
    EXPECT_EQ(LinePattern::Compile(pattern).status().code(), Code::kInvalidArgument) << pattern;
  EXPECT_FALSE(LinePattern::Compile("(" + std::string(1000, 'a') + ")").ok());
  for (const char* pattern :
       {"([+*?{]+)", "([]+]+)", "([^]*]*)", "([[:digit:]+]+)", R"(\++([0-9]{1,99})\{)", "a+(b*)c?"})
    EXPECT_TRUE(LinePattern::Compile(pattern).ok()) << LinePattern::Compile(pattern).status().message();
}

TEST(LinePatternTest, APatternForPlainNumbersTakesOthers) {
  const auto number = [](const char* pattern, const char* line) {
    return LinePattern::CompileNumber(pattern)->Find(line).value_or("none");
  };
  EXPECT_EQ(number("loss=([0-9.]+)", "loss=1.5 x"), "1.5");
  EXPECT_EQ(number("loss=([0-9.]+)", "loss=1e-5"), "1e-5");
  EXPECT_EQ(number("loss=([0-9.]+),", "loss=1.25E+06, x"), "1.25E+06");
  EXPECT_EQ(number("loss=([0-9.]+)", "loss=NaN"), "NaN");
  EXPECT_EQ(number("loss[[:space:](]*([0-9.]+)", "loss ( -inf"), "-inf");
  EXPECT_EQ(number("\\(loss\\) ([0-9.]+)", "(loss) Infinity."), "Infinity");
  EXPECT_EQ(number("([0-9.]+)", "information 2.5"), "2.5") << "no word begins with a number";
  EXPECT_EQ(number("loss ([^ ]+)", "loss 1e-5 x"), "1e-5");
  EXPECT_EQ(number("loss=([0-9.]+)", "loss=none"), "none");
  EXPECT_EQ(LinePattern::Compile("loss=([0-9.]+)")->Find("loss=1e-5"), "1")
      << "a text stays as it is written";
}

}  // namespace
}  // namespace pipeline
