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

}  // namespace
}  // namespace pipeline
