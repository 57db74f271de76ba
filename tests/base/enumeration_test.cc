#include "base/enumeration.h"

#include <gtest/gtest.h>

#include <vector>

namespace pipeline {
namespace {

TEST(EnumerationTest, EndsWithAWord) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(Enumeration(Words{"a", "b", "c"}, "or"), "a, b or c");
  EXPECT_EQ(Enumeration(Words{"a", "b"}, "and"), "a and b");
  EXPECT_EQ(Enumeration(Words{"a"}, "and"), "a");
  EXPECT_EQ(Enumeration(Words{}, "and"), "");
}

TEST(CountedTest, OneThingHasNoS) {
  EXPECT_EQ(Counted(1, "record"), "1 record");
  EXPECT_EQ(Counted(0, "record"), "0 records");
  EXPECT_EQ(Counted(7, "record"), "7 records");
}

TEST(JoinTest, WordsHaveTheTextBetweenThem) {
  EXPECT_EQ(Join(std::vector<std::string>{"a", "b"}, ","), "a,b");
  EXPECT_EQ(Join(std::vector<std::string>{}, ","), "");
}

}  // namespace
}  // namespace pipeline
