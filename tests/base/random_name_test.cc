#include "base/random_name.h"

#include <gtest/gtest.h>

#include <set>

namespace pipeline {
namespace {

TEST(RandomNameTest, HasTheDigitsThatWereAskedForAndIsAnotherEachTime) {
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i) {
    const std::string name = RandomName(24);
    EXPECT_EQ(name.size(), 24u);
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos) << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 100u);
  EXPECT_EQ(RandomName(0), "");
}

}  // namespace
}  // namespace pipeline
