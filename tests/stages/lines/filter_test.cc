#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "dag/records/transform.h"
#include "stages/lines/line_stages.h"
#include "tests/stages/batches.h"

namespace pipeline {
namespace {

Json Range(double low, double high) { return Json(Json::Array{Json(low), Json(high)}); }

/// Every key that has a default, and `keys`.
Json FilterConfig(Json::Object keys) {
  Json config(std::move(keys));
  if (!config.Has("patterns")) config["patterns"] = Json(Json::Array{});
  if (!config.Has("repeat_length")) config["repeat_length"] = 10;
  return config;
}

/// The reason for which `line` goes; empty where it stays.
std::string DropReason(const Json& config, const std::string& line) {
  const auto transform = MakeTransform(FilterType(), config);
  Batch batch = BatchOf({line});
  const StageCounts counts = ApplyTo(batch, *transform);
  if (batch.size() == 1) {
    EXPECT_TRUE(batch.quarantine.empty() && counts.reasons.empty());
    EXPECT_EQ(batch.text[0], line);
    return "";
  }
  EXPECT_EQ(batch.quarantine.at(0).bytes, line);
  EXPECT_EQ(counts.reasons, (decltype(counts.reasons){{batch.quarantine[0].reason, 1}}));
  return batch.quarantine[0].reason;
}

std::string WhyRefused(Json::Object keys) {
  Schema schema = TextSchema();
  const Status status = FilterType().check(FilterConfig(std::move(keys)), schema);
  EXPECT_TRUE(status.ok() || status.code() == Code::kInvalidArgument);
  return std::string(status.message());
}

TEST(FilterTest, LengthIsInCharactersAndBoundsAreInside) {
  const Json config = FilterConfig({{"min_chars", 3}, {"max_chars", 5}});
  EXPECT_EQ(DropReason(config, "猫"), "dropped_min_chars");
  EXPECT_EQ(DropReason(config, "猫犬"), "dropped_min_chars");
  EXPECT_EQ(DropReason(config, "猫犬鳥"), "");
  EXPECT_EQ(DropReason(config, "a b😀c"), "");
  EXPECT_EQ(DropReason(config, "가나 다라"), "");
  EXPECT_EQ(DropReason(config, "가나 다라마"), "dropped_max_chars");
  EXPECT_EQ(DropReason(config, ""), "dropped_min_chars");
}

TEST(FilterTest, SharesLeaveOutSpaces) {
  const Json kana = FilterConfig({{"kana", Range(0.5, 0.75)}});
  EXPECT_EQ(DropReason(kana, "かカ漢字"), "");                   // exactly 0.5
  EXPECT_EQ(DropReason(kana, " か  カ\u3000 漢 字 "), "");       // the same, spaced
  EXPECT_EQ(DropReason(kana, "かカ漢字a"), "dropped_kana_low");  // 0.4
  EXPECT_EQ(DropReason(kana, "かカー字"), "");                   // exactly 0.75
  EXPECT_EQ(DropReason(kana, "かカーあ字"), "dropped_kana_high");

  const Json hangul = FilterConfig({{"hangul", Range(0.9, 1)}});
  EXPECT_EQ(DropReason(hangul, "이 영화 정말 재미있다"), "");
  EXPECT_EQ(DropReason(hangul, "이 영화 good"), "dropped_hangul_low");
}

TEST(FilterTest, EachClassHasItsKey) {
  const std::pair<std::string, std::string> only[] = {
      {"hiragana", "ぁあゝ"}, {"katakana", "アｱー〱"},    {"kanji", "漢字々〆〇"},
      {"hangul", "한ᄒㅋ"},   {"latin", "aＡéⅧ"},         {"digits", "7７②½"},
      {"symbols", "+☆😀"},     {"punctuation", "。、!「"}, {"other", "яαกع"},
  };
  std::vector<std::string> texts;
  for (const auto& [key, text] : only) texts.push_back(text);
  for (const auto& [key, text] : only) {
    const auto half = MakeTransform(FilterType(), FilterConfig({{key, Range(0.5, 1)}}));
    Batch batch = BatchOf(texts);
    const StageCounts counts = ApplyTo(batch, *half);
    EXPECT_EQ(LinesOf(batch), std::vector<std::string>{text}) << key;
    EXPECT_EQ(counts.reasons, (decltype(counts.reasons){{StrCat("dropped_", key, "_low"), 8}}));
    EXPECT_EQ(DropReason(FilterConfig({{key, Range(0, 0.99)}}), text), StrCat("dropped_", key, "_high"));
  }
}

TEST(FilterTest, TextWithoutCharactersHasNoShareOfAnything) {
  for (const std::string text : {"", " \u3000\t", "\u200b\u0301"}) {
    EXPECT_EQ(DropReason(FilterConfig({{"kana", Range(0.1, 1)}}), text), "dropped_kana_low");
    EXPECT_EQ(
        DropReason(FilterConfig({{"kana", Range(0, 0)}, {"urls", Range(0, 0)}, {"repeats", Range(0, 0)}}),
                   text),
        "");
  }
}

TEST(FilterTest, TheFirstRuleOfTheTableNamesTheReason) {
  const Json config = FilterConfig({{"min_chars", 3},
                                    {"kana", Range(0.5, 1)},
                                    {"symbols", Range(0, 0)},
                                    {"max_run", 2},
                                    {"patterns", Json(Json::Array{"☆"})},
                                    {"urls", Range(0, 0)},
                                    {"repeat_length", 2},
                                    {"repeats", Range(0, 0)}});
  EXPECT_EQ(DropReason(config, "☆"), "dropped_min_chars");
  EXPECT_EQ(DropReason(config, "☆☆☆☆"), "dropped_kana_low");
  EXPECT_EQ(DropReason(config, "あい☆☆"), "dropped_symbols_high");
  EXPECT_EQ(DropReason(config, "あああ"), "dropped_max_run");
  EXPECT_EQ(DropReason(config, "あいあい"), "dropped_repeats_high");
  EXPECT_EQ(DropReason(config, "あいう"), "");
  const Json later =
      FilterConfig({{"max_run", 3}, {"urls", Range(0, 0.5)}, {"patterns", Json(Json::Array{"www"})}});
  EXPECT_EQ(DropReason(later, "www.wwww.jp"), "dropped_max_run");
  EXPECT_EQ(DropReason(later, "www.a.jp"), "dropped_urls_high");
  EXPECT_EQ(DropReason(later, "つまりwwwである"), "dropped_patterns");
}

TEST(FilterTest, ARunMayHaveItsLengthAndNoMore) {
  const Json config = FilterConfig({{"max_run", 4}});
  EXPECT_EQ(DropReason(config, "えーーーーと"), "");
  EXPECT_EQ(DropReason(config, "えーーーーーと"), "dropped_max_run");
  EXPECT_EQ(DropReason(config, "a     b"), "dropped_max_run");
  // Over the border of the pieces in which long records are measured.
  std::string border = std::string(16384 - 3, ' ');
  for (std::size_t i = 0; i < border.size(); i += 2) border[i] = '.';
  EXPECT_EQ(DropReason(config, border + "xxxx"), "");
  EXPECT_EQ(DropReason(config, border + "xxxxx"), "dropped_max_run");
}

TEST(FilterTest, LongRecordsAreMeasuredForRepeatsPieceByPiece) {
  const Json config = FilterConfig({{"repeats", Range(0, 0.3)}});
  std::string distinct;  // 16384 characters of which no ten come twice
  for (int i = 0; distinct.size() < 16384; ++i) distinct += StrCat(i, '/', i * 7, ';');
  distinct.resize(16384);
  EXPECT_EQ(DropReason(config, distinct), "");
  EXPECT_EQ(DropReason(config, distinct + distinct), "") << "each piece by itself";
  std::string again = distinct;
  again.replace(8192, 8192, distinct.substr(0, 8192));
  EXPECT_EQ(DropReason(config, distinct + again), "") << "a quarter of both";
  EXPECT_EQ(DropReason(config, again + again), "dropped_repeats_high") << "half of both";
}

TEST(FilterTest, KeepsEveryColumnOfWhatStays) {
  const auto transform = MakeTransform(FilterType(), FilterConfig({{"min_chars", 2}}));
  Batch batch = BatchOf({"猫犬", "猫", "鳥鳥鳥", ""});
  for (std::uint8_t row = 0; row < 4; ++row) {
    batch.split.push_back(row);
    batch.label.Append(StrCat("label ", row));
    batch.cuts.Append(std::vector<std::uint32_t>(row, row));
  }
  const StageCounts counts = ApplyTo(batch, *transform);
  EXPECT_EQ(LinesOf(batch), (std::vector<std::string>{"猫犬", "鳥鳥鳥"}));
  EXPECT_EQ(batch.heads[1].index, 2u);
  EXPECT_EQ(batch.split, (std::vector<std::uint8_t>{0, 2}));
  EXPECT_EQ(batch.label[1], "label 2");
  EXPECT_EQ(batch.cuts[1].size(), 2u);
  EXPECT_EQ(counts.reasons, (decltype(counts.reasons){{"dropped_min_chars", 2}}));
  ASSERT_EQ(batch.quarantine.size(), 2u);
  EXPECT_EQ(batch.quarantine[1].index, 3u);
  EXPECT_EQ(batch.quarantine[1].stage, 1u);
}

TEST(FilterTest, TheSameRecordsGoWhateverTheBatches) {
  const std::vector<std::string> pieces = {"猫",     "か",         "カ",        "a", "。",
                                           "☆",      " ",          "한",        "7", "https://a.jp/",
                                           "ーーー", "続きを読む", "あいうえお"};
  std::mt19937 random(4);
  std::vector<std::string> lines;
  for (int i = 0; i < 3000; ++i) {
    std::string line;
    for (auto left = random() % 30; left > 0; --left) line += pieces[random() % pieces.size()];
    lines.push_back(line);
  }
  const auto transform =
      MakeTransform(FilterType(), FilterConfig({{"min_chars", 5},
                                                {"kana", Range(0.3, 1)},
                                                {"symbols", Range(0, 0.1)},
                                                {"urls", Range(0, 0.4)},
                                                {"max_run", 5},
                                                {"patterns", Json(Json::Array{"続きを*読む$"})},
                                                {"repeat_length", 5},
                                                {"repeats", Range(0, 0.2)}}));
  const auto worker = transform->NewWorker();
  ASSERT_TRUE(worker.ok());
  std::vector<std::string> kept[2];
  std::vector<std::string> reasons[2];
  StageCounts counts[2];
  for (const std::size_t size : {std::size_t{7}, lines.size()}) {
    const std::size_t which = size == 7 ? 0 : 1;
    for (std::size_t at = 0; at < lines.size(); at += size) {
      Batch batch = BatchOf({lines.begin() + static_cast<std::ptrdiff_t>(at),
                             lines.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, lines.size()))});
      ASSERT_TRUE((*worker)->Apply(batch, 1, counts[which]).ok());
      for (std::string& line : LinesOf(batch)) kept[which].push_back(std::move(line));
      for (const Quarantined& record : batch.quarantine)
        reasons[which].push_back(record.reason + record.bytes);
    }
  }
  EXPECT_EQ(kept[0], kept[1]);
  EXPECT_EQ(reasons[0], reasons[1]);
  EXPECT_EQ(counts[0], counts[1]);
  EXPECT_EQ(counts[0].reasons.size(), 7u) << "each rule has its share";
  EXPECT_EQ(kept[0].size() + reasons[0].size(), lines.size());
  EXPECT_GT(kept[0].size(), 100u);
}

TEST(FilterTest, MistakesAreNamed) {
  EXPECT_EQ(WhyRefused({}),
            "it has no rule and would drop nothing; give it one, such as min_chars, or remove the stage");
  EXPECT_EQ(WhyRefused({{"repeat_length", 5}}), WhyRefused({})) << "says how, not what";
  EXPECT_EQ(WhyRefused({{"min_chars", 9}, {"max_chars", 8}}),
            "min_chars (9) is above max_chars (8): no record would stay");
  EXPECT_EQ(WhyRefused({{"min_chars", 8}, {"max_chars", 8}}), "");
  EXPECT_EQ(WhyRefused({{"max_run", 0}}), "max_run: 0 characters is no bound; it must be at least 1");
  EXPECT_EQ(WhyRefused({{"min_chars", -1}}), "min_chars: -1 characters is no bound; it must be at least 1");
  EXPECT_EQ(WhyRefused({{"repeats", Range(0, 0.5)}, {"repeat_length", 1}}),
            "repeat_length: from 2 to 64 characters, not 1");
  EXPECT_EQ(WhyRefused({{"repeats", Range(0, 0.5)}, {"repeat_length", 65}}),
            "repeat_length: from 2 to 64 characters, not 65");
  EXPECT_EQ(WhyRefused({{"patterns", Json(Json::Array{"good", "*"})}}),
            "the pattern '*' names no text and would match too much; give it a text");
  for (const char* key : {"min_chars", "max_chars", "max_run"}) EXPECT_EQ(WhyRefused({{key, 1}}), "") << key;
  for (const char* key : {"kana", "other", "urls", "repeats"})
    EXPECT_EQ(WhyRefused({{key, Range(0, 1)}}), "") << key;
}

}  // namespace
}  // namespace pipeline
