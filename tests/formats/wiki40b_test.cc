#include "formats/wiki40b.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

std::string Lines(std::string_view article, bool titles = false) {
  std::string out;
  AppendWiki40bLines(article, titles, out);
  return out;
}

constexpr std::string_view kExampleArticle =
    "\n_START_ARTICLE_\n猫\n_START_SECTION_\n歴史\n_START_PARAGRAPH_\n猫は鳴く。_NEWLINE_猫は眠る。";

TEST(Wiki40bTest, ExampleOfTheFormatPage) {
  EXPECT_EQ(Lines(kExampleArticle), "猫は鳴く。\n猫は眠る。");
  EXPECT_EQ(Lines(kExampleArticle, true), "猫\n歴史\n猫は鳴く。\n猫は眠る。");
}

TEST(Wiki40bTest, WhatStandsBehindAMarkIsUpToTheNext) {
  EXPECT_EQ(Lines("before\n_START_PARAGRAPH_\na\nb\n_START_ARTICLE_\nt\n_START_PARAGRAPH_\nc\n"), "a\nb\nc");
  EXPECT_EQ(Lines("_START_PARAGRAPH_"), "");
  EXPECT_EQ(Lines("no marks at all"), "");
  EXPECT_EQ(Lines("_START_PARAGRAPH_ \nx"), "") << "a line with more in it is no mark";
}

TEST(Wiki40bTest, AppendsToWhatIsThere) {
  std::string out = "kept";
  AppendWiki40bLines("_START_PARAGRAPH_\na_NEWLINE_b", false, out);
  EXPECT_EQ(out, "kepta\nb");
}

}  // namespace
}  // namespace pipeline
