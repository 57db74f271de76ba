#include "text/sentencepiece/token_cutter.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/stages/tokenizer/tokenizer_fixture.h"
#include "text/white_space.h"

namespace pipeline {
namespace {

using Strings = std::vector<std::string>;

class TokenCutterTest : public testing::Test {
 protected:
  static const SentencePieceEncoder& Encoder() {
    static const std::unique_ptr<const SentencePieceEncoder> encoder = [] {
      const Trained trained = Train(SmallCorpus());
      EXPECT_TRUE(trained.status.ok()) << trained.status.message();
      auto loaded = SentencePieceEncoder::Load(trained.Object("tokenizer.model"));
      EXPECT_TRUE(loaded.ok());
      return std::move(loaded).value();
    }();
    return *encoder;
  }

  static std::size_t Tokens(std::string_view text) {
    SentencePieceEncoder::Scratch scratch;
    std::vector<std::uint32_t> ids, ends;
    EXPECT_TRUE(Encoder().Encode(text, scratch, ids, ends).ok());
    return ids.size() + 1;
  }

  static Strings Cut(std::string_view line, std::size_t most, const std::vector<std::uint32_t>& cuts = {},
                     std::size_t too_long = 0) {
    TokenCutter cutter(Encoder(), most);
    std::vector<std::string_view> parts;
    const auto over = cutter.Cut(line, cuts, parts);
    EXPECT_TRUE(over.ok()) << over.status().message();
    EXPECT_EQ(*over, too_long);
    Strings found(parts.begin(), parts.end());
    return found;
  }

  static std::string WithoutSpaces(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = WhiteSpaceEnd(text, at);
      if (end == at) out += text[at++];
      at = end > at ? end : at;
    }
    return out;
  }
};

TEST_F(TokenCutterTest, WhatFitsStaysAsItIs) {
  EXPECT_EQ(Cut("", 8), Strings{""});
  EXPECT_EQ(Cut(" 猫が。 ", 30), Strings{" 猫が。 "});
  const std::string line = "猫が見る。犬が見る。";
  EXPECT_EQ(Cut(line, Tokens(line)), Strings{line});
  EXPECT_EQ(Cut(line, Tokens(line) - 1).size(), 2u);
}

TEST_F(TokenCutterTest, AsManySentencesAsFitGoTogether) {
  const std::string one = "猫が見る。", two = "犬が見る。", three = "彼は学校へ行った。";
  const std::string line = one + " " + two + three;
  const std::size_t most = Tokens(one + " " + two);
  ASSERT_LE(Tokens(three), most);
  ASSERT_GT(Tokens(two + three), most);
  EXPECT_EQ(Cut(line, most), (Strings{one + " " + two, three}));
}

TEST_F(TokenCutterTest, ALongSentenceIsCutBetweenMorphemesOrAtWhiteSpace) {
  const Line line = LineOf({"東京都", "に", "住ん", "で", "いる", "大きな", "声", "と", "楽しい", "時間"});
  const Strings parts = Cut(line.text, 8, line.cuts);
  ASSERT_GT(parts.size(), 1u);
  std::size_t at = 0;
  for (const std::string& part : parts) {
    at += part.size();
    EXPECT_TRUE(std::find(line.cuts.begin(), line.cuts.end(), at) != line.cuts.end()) << at;
    EXPECT_LE(Tokens(part), 8u);
  }
  EXPECT_EQ(at, line.text.size());

  for (const std::string& part : Cut("the Linux the Linux the Linux the Linux the Linux", 12))
    EXPECT_TRUE(part.starts_with("the") || part.starts_with("Linux")) << part;
}

TEST_F(TokenCutterTest, WithoutSuchAPlaceItIsCutBetweenCharacters) {
  std::string line;
  for (int i = 0; i < 40; ++i) line += "鱻";  // three bytes, each a token
  const Strings parts = Cut(line, 8);
  std::string all;
  for (const std::string& part : parts) {
    EXPECT_EQ(part.size() % 3, 0u);
    EXPECT_LE(Tokens(part), 8u);
    all += part;
  }
  EXPECT_EQ(all, line);
}

TEST_F(TokenCutterTest, ACharacterThatFitsNowhereIsToldAndKept) {
  const std::string family = "鱻鱻";
  ASSERT_GT(Tokens("鱻"), 3u);
  EXPECT_EQ(Cut(family, 3, {}, 2), (Strings{"鱻", "鱻"}));
}

TEST_F(TokenCutterTest, AnyLineComesBackWholeInPartsThatFit) {
  std::mt19937 random(3);
  const Strings words = {"猫",    "が", "見る",    "。",     " ",  "\u3000", "「",     "」",   "！", "the ",
                         "Linux", "鱻", "e\u0301", "2026.5", ". ", "、",     "東京都", "学校", "と", "？"};
  for (int round = 0; round < 300; ++round) {
    Line line;
    for (auto left = random() % 120; left > 0; --left) {
      line.text += words[random() % words.size()];
      line.cuts.push_back(static_cast<std::uint32_t>(line.text.size()));
    }
    const std::size_t most = 8 + random() % 40;
    const Strings parts = Cut(line.text, most, random() % 2 == 0 ? line.cuts : std::vector<std::uint32_t>());
    std::string all;
    for (const std::string& part : parts) {
      EXPECT_LE(Tokens(part), most) << part;
      if (parts.size() > 1) {
        EXPECT_EQ(StripWhiteSpace(part), part);
        EXPECT_FALSE(part.empty());
      }
      all += part;
    }
    EXPECT_EQ(WithoutSpaces(all), WithoutSpaces(line.text));
  }
}

TEST_F(TokenCutterTest, ALongLineTakesNoLongTime) {
  std::string line;
  while (line.size() < 300'000) line += "猫が見る彼は学校へ行った";
  const Strings parts = Cut(line, 16);
  EXPECT_GT(parts.size(), 5'000u);
}

}  // namespace
}  // namespace pipeline
