#include "text/repetition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {
namespace {

std::size_t Repeated(std::u32string_view text, std::size_t length) {
  return RepetitionFinder(length).CountRepeated(text);
}

/// The definition, word by word.
std::size_t InSlowMotion(std::u32string_view text, std::size_t length) {
  std::vector<bool> repeats(text.size());
  for (std::size_t begin = 0; begin + length <= text.size(); ++begin)
    if (text.find(text.substr(begin, length)) < begin)
      for (std::size_t i = 0; i < length; ++i) repeats[begin + i] = true;
  return static_cast<std::size_t>(std::count(repeats.begin(), repeats.end(), true));
}

TEST(RepetitionTest, ExamplesOfThePage) {
  EXPECT_EQ(Repeated(U"abcabcab", 3), 5u);
  EXPECT_EQ(Repeated(U"ああああああ", 3), 5u);
  EXPECT_EQ(Repeated(U"abcxabyabc", 3), 3u);
}

TEST(RepetitionTest, ShortTextsDoNotRepeat) {
  EXPECT_EQ(Repeated(U"", 3), 0u);
  EXPECT_EQ(Repeated(U"ああ", 3), 0u);
  EXPECT_EQ(Repeated(U"あああ", 3), 0u);
  EXPECT_EQ(Repeated(U"ああああ", 3), 3u);
}

TEST(RepetitionTest, AgreesWithTheDefinition) {
  std::mt19937 random(2);
  for (const std::size_t length : {2u, 3u, 5u, 10u, 64u}) {
    RepetitionFinder finder(length);  // one for all: nothing of a text stays for the next
    for (int round = 0; round < 400; ++round) {
      std::u32string text(random() % 300, U'\0');
      const std::size_t letters = 1 + random() % 6;
      for (char32_t& c : text) c = U"あa猫😀한x"[random() % letters];
      ASSERT_EQ(finder.CountRepeated(text), InSlowMotion(text, length)) << length;
    }
  }
}

// What polynomial hashes modulo a power of two cannot tell apart.
TEST(RepetitionTest, EqualHashesAreNoRepetition) {
  std::u32string morse = U"a";
  while (morse.size() < 4096) {
    std::u32string other = morse;
    for (char32_t& c : other) c = c == U'a' ? U'b' : U'a';
    morse += other;
  }
  EXPECT_EQ(Repeated(morse, 64), InSlowMotion(morse, 64));
}

bool HasRun(std::u32string_view text, std::size_t limit, std::size_t piece) {
  RunFinder finder(limit);
  for (std::size_t at = 0; at < text.size(); at += piece) finder.Add(text.substr(at, piece));
  return finder.found();
}

TEST(RunFinderTest, AgreesWithCountingWhateverThePieces) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::u32string text(random() % 20, U'a');
    for (char32_t& c : text) c = U"aaab"[random() % 4];
    std::size_t longest = 0;
    for (std::size_t at = 0, run = 0; at < text.size(); ++at) {
      run = at > 0 && text[at] == text[at - 1] ? run + 1 : 1;
      longest = std::max(longest, run);
    }
    for (std::size_t limit = 1; limit < 12; ++limit)
      for (const std::size_t piece : {1u, 2u, 3u, 7u, 20u})
        ASSERT_EQ(HasRun(text, limit, piece), longest > limit) << limit << " in pieces of " << piece;
  }
}

}  // namespace
}  // namespace pipeline
