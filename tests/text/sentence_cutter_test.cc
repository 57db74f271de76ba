#include "text/sentence_cutter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {
namespace {

using Sentences = std::vector<std::string>;

Sentences Cut(std::string_view line) {
  std::vector<std::uint32_t> ends = {7};
  FindSentenceEnds(line, ends);
  Sentences sentences;
  std::size_t begin = 0;
  for (const std::uint32_t end : ends) {
    EXPECT_GT(end, begin) << line;
    sentences.emplace_back(line.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, line.size()) << line;
  return sentences;
}

std::string Repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(SentenceCutterTest, JapaneseMarksEndSentences) {
  EXPECT_EQ(Cut("猫が鳴く。犬も鳴く！本当？そう｡"),
            (Sentences{"猫が鳴く。", "犬も鳴く！", "本当？", "そう｡"}));
  EXPECT_EQ(Cut("終わり．次"), (Sentences{"終わり．", "次"}));
  EXPECT_EQ(Cut("すごい!でも高い?はい"), (Sentences{"すごい!", "でも高い?", "はい"}));
}

TEST(SentenceCutterTest, RunsAndWhatClosesBelongToTheSentence) {
  EXPECT_EQ(Cut("えっ？！…本当ですか！？」次"), (Sentences{"えっ？！…", "本当ですか！？」", "次"}));
  EXPECT_EQ(Cut("終わり。）】次"), (Sentences{"終わり。）】", "次"}));
  EXPECT_EQ(Cut("He said so.\") Then he left."), (Sentences{"He said so.\")", " Then he left."}));
  EXPECT_EQ(Cut("間が…空く。"), (Sentences{"間が…空く。"}));
}

TEST(SentenceCutterTest, QuotationsAreNotCut) {
  EXPECT_EQ(Cut("彼は「行く。来る。」と言った。次"), (Sentences{"彼は「行く。来る。」と言った。", "次"}));
  EXPECT_EQ(Cut("「行く。」「来る。」"), (Sentences{"「行く。」", "「来る。」"}));
  EXPECT_EQ(Cut("「行く。」\u3000朝だ。"), (Sentences{"「行く。」", "\u3000朝だ。"}));
  EXPECT_EQ(Cut("「『行け。』と彼。去る。」それだけ。"), (Sentences{"「『行け。』と彼。去る。」それだけ。"}));
  EXPECT_EQ(Cut("雨（小雨。霧。）だ。次"), (Sentences{"雨（小雨。霧。）だ。", "次"}));
  EXPECT_EQ(Cut("「行く」。次"), (Sentences{"「行く」。", "次"}));
  EXPECT_EQ(Cut("「行く。」。次"), (Sentences{"「行く。」。", "次"}));
  EXPECT_EQ(Cut("“Stop! Go.” she said. He went."), (Sentences{"“Stop! Go.” she said.", " He went."}));
}

TEST(SentenceCutterTest, WhatIsNotClosedOrTooLongIsNoQuotation) {
  EXPECT_EQ(Cut("「行く。来る。"), (Sentences{"「行く。", "来る。"}));
  EXPECT_EQ(Cut("行く」来る。次」だ。"), (Sentences{"行く」来る。", "次」だ。"}));
  const std::string most = Repeat("あ", (kMostQuotedBytes - 6) / 3);  // two marks of its own
  EXPECT_EQ(Cut(StrCat("「。", most, "」だ。")), (Sentences{StrCat("「。", most, "」だ。")}));
  EXPECT_EQ(Cut(StrCat("「。", most, "あ」だ。")), (Sentences{"「。", StrCat(most, "あ」だ。")}));
  EXPECT_EQ(Cut("「『あ。」い。』う。"), (Sentences{"「『あ。」い。』", "う。"}));
}

TEST(SentenceCutterTest, FullStopsNeedWhiteSpace) {
  EXPECT_EQ(Cut("밥을 먹었다. 그래서 배가 불러요. 끝"),
            (Sentences{"밥을 먹었다.", " 그래서 배가 불러요.", " 끝"}));
  EXPECT_EQ(Cut("먹었다.그래서"), (Sentences{"먹었다.그래서"}));
  EXPECT_EQ(Cut("It is 3.14 or so. See example.com now."),
            (Sentences{"It is 3.14 or so.", " See example.com now."}));
  EXPECT_EQ(Cut("円周率は３．１４だ"), (Sentences{"円周率は３．１４だ"}));
  EXPECT_EQ(Cut("Wait... what? No... Yes."), (Sentences{"Wait... what?", " No...", " Yes."}));
}

TEST(SentenceCutterTest, AbbreviationsAndNumbersDoNotEnd) {
  EXPECT_EQ(Cut("Dr. Smith of the U.S. Army met J. Doe, e.g. here. Then No. 5 left."),
            (Sentences{"Dr. Smith of the U.S. Army met J. Doe, e.g. here.", " Then No. 5 left."}));
  EXPECT_EQ(Cut("2020. 5. 3. 에 왔다. 끝"), (Sentences{"2020. 5. 3. 에 왔다.", " 끝"}));
  EXPECT_EQ(Cut("Jan. was cold vs. Feb. and so on."), (Sentences{"Jan. was cold vs. Feb. and so on."}));
}

TEST(SentenceCutterTest, AddressesAreNotCut) {
  EXPECT_EQ(Cut("https://a.jp/x?q=1&r=2!a を見た。"), (Sentences{"https://a.jp/x?q=1&r=2!a を見た。"}));
}

TEST(SentenceCutterTest, WhiteSpaceGoesWithWhatFollows) {
  EXPECT_EQ(Cut("一。 \u3000二。 "), (Sentences{"一。", " \u3000二。 "}));
  EXPECT_EQ(Cut("  "), (Sentences{"  "}));
  EXPECT_EQ(Cut(""), (Sentences{}));
  EXPECT_EQ(Cut("。"), (Sentences{"。"}));
}

TEST(SentenceCutterTest, DamagedTextIsSafe) {
  const std::string text = "「あ。」い！ “x.” y. »。";
  for (std::size_t end = 0; end <= text.size(); ++end)
    for (std::size_t begin = 0; begin <= end; ++begin) Cut(text.substr(begin, end - begin));
}

TEST(SentenceCutterTest, EndsLieBetweenCharacters) {
  const std::string text = "「あ。」い！ “x.” y.猫»。𠮷！é.";
  std::vector<std::uint32_t> ends;
  FindSentenceEnds(text, ends);
  for (const std::uint32_t end : ends) EXPECT_TRUE(end == text.size() || !IsUtf8Tail(text[end]));
}

// A mark in front of everything, an opening mark before each, white space without end.
TEST(SentenceCutterTest, TakesTimeInProportion) {
  std::vector<std::uint32_t> ends;
  for (const std::string_view part : {"「。", "。", ".", "a.", ". ", "「『（“", "」。", "\u3000"}) {
    const std::string text = Repeat(part, (std::size_t{1} << 22) / part.size());
    const auto begin = std::chrono::steady_clock::now();
    FindSentenceEnds(text, ends);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << part;
  }
}

}  // namespace
}  // namespace pipeline
