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

}  // namespace
}  // namespace pipeline
