#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "stages/tokenizer/unigram_training.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {
namespace {

using CountsByWord = std::map<std::string, std::uint64_t>;

CountsByWord Normalized(const CountsByWord& counts, const std::vector<std::string>& symbols = {},
                        WordStarts starts = WordStarts::kDropped) {
  const Result<std::string> rules = LibraryCharsmap("nmt_nfkc");
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  CountedWords words;
  for (const auto& [word, count] : counts) words.Add(word, count);
  const CountedWords normalized = NormalizedWords(words, Charsmap(*rules), symbols, starts);
  const auto all = normalized.All();
  return {all.begin(), all.end()};
}

TEST(NormalizedWordsTest, EqualWordsAfterTheRulesAreOne) {
  EXPECT_EQ(Normalized({{"Ａ１", 3}, {"A1", 4}, {"㍿", 5}, {"猫", 6}}),
            (CountsByWord{{"A1", 7}, {"株式会社", 5}, {"猫", 6}}));
}

TEST(NormalizedWordsTest, AWordThatGetsASpaceBecomesItsParts) {
  EXPECT_EQ(Normalized({{"猫\u3000犬", 2}, {"\u3000", 9}}), (CountsByWord{{"猫", 2}, {"犬", 2}}));
  EXPECT_EQ(Normalized({{"\u2581猫\u3000犬", 2}, {"鳥\u3000犬", 1}}, {}, WordStarts::kBehindSpace),
            (CountsByWord{{"\u2581猫", 2}, {"\u2581犬", 3}, {"鳥", 1}}));
}

TEST(NormalizedWordsTest, NoRuleChangesASymbol) {
  EXPECT_EQ(Normalized({{"Ａ＜１＞Ａ", 1}}, {"＜１＞"}), (CountsByWord{{"A＜１＞A", 1}}));
}

TEST(NormalizedWordsTest, ARuleThatTheLibraryDoesNotKnowIsNamed) {
  const Result<std::string> rules = LibraryCharsmap("no_such_rule");
  EXPECT_EQ(rules.status().code(), Code::kInternal);
  EXPECT_NE(rules.status().message().find("no_such_rule"), std::string::npos) << rules.status().message();
  const Result<std::string> identity = LibraryCharsmap("identity");
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(*identity, "");
}

}  // namespace
}  // namespace pipeline
