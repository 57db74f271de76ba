#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stages/tokenizer/library_training.h"
#include "text/unigram/pre_tokens.h"

namespace pipeline {
namespace {

using List = std::vector<std::string>;

List Fed(const CountedWords& words) {
  List all;
  const Status fed = FeedMorphemes(words, [&all](std::string_view sentence) {
    all.emplace_back(sentence);
    return Status();
  });
  EXPECT_TRUE(fed.ok()) << fed.message();
  return all;
}

TEST(MorphemeSentencesTest, GivesEachMorphemeOnceWithItsCountAndOneEndOpen) {
  CountedWords words;
  for (const char* word : {"猫", "が", "猫", "犬", "猫"}) words.Add(word);
  EXPECT_EQ(Fed(words), (List{"が\t1", "犬\t1", "猫\t2", "猫 \t1"}));
}

TEST(MorphemeSentencesTest, ASpaceInFrontMarksTheBeginningOfAWord) {
  const std::string line = "\uac00\ub294 \uac00 \uac00\ub294";  // three words, five morphemes
  const std::vector<std::uint32_t> cuts = {3, 6, 10, 14, 17};
  const auto fed = [&](WordStarts starts) {
    CountedWords words;
    PreTokens(starts).Count(line, cuts, words);
    EXPECT_EQ(words.total(), 5u);
    return Fed(words);
  };
  EXPECT_EQ(fed(WordStarts::kDropped), (List{"\uac00\t2", "\uac00 \t1", "\ub294\t1", "\ub294 \t1"}));
  EXPECT_EQ(fed(WordStarts::kBehindSpace),
            (List{" \uac00\t1", " \uac00 \t1", "\uac00\t1", "\ub294\t1", "\ub294 \t1"}));
  EXPECT_EQ(fed(WordStarts::kBehindSpaceOrLine),
            (List{" \uac00\t2", " \uac00 \t1", "\ub294\t1", "\ub294 \t1"}));
}

TEST(MorphemeSentencesTest, FailureOfTheTakerComesBack) {
  CountedWords words;
  words.Add("猫");
  const auto refuse = [](std::string_view) { return Status(Code::kUnavailable, "gone"); };
  EXPECT_EQ(FeedMorphemes(words, refuse).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace pipeline
