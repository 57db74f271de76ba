#include "text/regular_expression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipeline {
namespace {

using Borders = std::vector<std::uint32_t>;

RegularExpression Compiled(const std::string& pattern) {
  Result<RegularExpression> made = RegularExpression::Make(pattern);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

Borders BordersOf(RegularExpression& expression, std::string_view text) {
  Borders borders;
  const Status found = expression.FindBorders(text, borders);
  EXPECT_TRUE(found.ok()) << found.message();
  return borders;
}

TEST(RegularExpressionTest, BordersAreBytesOfMatches) {
  RegularExpression digit = Compiled("\\p{Nd}");
  EXPECT_EQ(BordersOf(digit, "猫12匹"), (Borders{3, 4, 4, 5}));
  EXPECT_EQ(BordersOf(digit, "３a"), (Borders{0, 3}));
  EXPECT_EQ(BordersOf(digit, "猫"), Borders());
  EXPECT_EQ(BordersOf(digit, ""), Borders());
  RegularExpression kana = Compiled("\\p{Hiragana}+|𠮷");
  EXPECT_EQ(BordersOf(kana, "猫がいる𠮷"), (Borders{3, 12, 12, 16}));
}

TEST(RegularExpressionTest, EmptyMatchesHaveNoBorders) {
  RegularExpression any = Compiled("x*");
  EXPECT_EQ(BordersOf(any, "axx猫"), (Borders{1, 3}));
}

TEST(RegularExpressionTest, ACopyFindsTheSame) {
  RegularExpression first = Compiled("[a-c]+");
  RegularExpression second = first;
  EXPECT_EQ(BordersOf(second, "xab"), (Borders{1, 3}));
  EXPECT_EQ(BordersOf(first, "c"), (Borders{0, 1}));
}

TEST(RegularExpressionTest, APatternThatIsNotValidIsRefusedWithItsPlace) {
  for (const std::string wrong : {"(", "[a", "\\p{NoSuchThing}", "a{2,1}", "*"}) {
    const Status status = RegularExpression::Make(wrong).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << wrong;
    EXPECT_NE(status.message().find("at character"), std::string::npos) << status.message();
  }
}

TEST(RegularExpressionTest, APatternWithoutAnEndIsStopped) {
  RegularExpression nested = Compiled("(a+)+b");
  Borders borders;
  const Status status = nested.FindBorders(std::string(5000, 'a'), borders);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("nested repetitions"), std::string::npos) << status.message();
  EXPECT_EQ(BordersOf(nested, "aab"), (Borders{0, 3})) << "it can be used again";
  RegularExpression copy = nested;
  EXPECT_EQ(copy.FindBorders(std::string(5000, 'a'), borders).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace pipeline
