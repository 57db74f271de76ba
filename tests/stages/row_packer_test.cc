#include "stages/row_packer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace pipeline {
namespace {

using Ids = std::vector<std::uint32_t>;

constexpr std::uint32_t kEos = 2;
constexpr std::uint32_t kNewline = 4;
constexpr std::uint32_t kFill = 0;

struct Line {
  Ids ids;
  Ids ends;
  std::string text;
  std::uint64_t document = 0;
};

struct Row {
  Ids ids;
  PackedRowFacts facts;
  bool operator==(const Row&) const = default;
};

RowRules WithNewline(std::uint32_t seq_len) { return {seq_len, kEos, kFill, kNewline}; }
RowRules ByLine(std::uint32_t seq_len) { return {seq_len, kEos, kEos, std::nullopt}; }

std::vector<Row> Pack(const RowRules& rules, const std::vector<Line>& lines) {
  std::vector<Row> rows;
  RowPacker packer(rules, [&rows](std::span<const std::uint32_t> ids, const PackedRowFacts& facts) {
    rows.push_back({Ids(ids.begin(), ids.end()), facts});
    return Status();
  });
  for (const Line& line : lines) {
    const Status added = packer.Add(line.ids, line.ends, line.text, line.document);
    EXPECT_TRUE(added.ok()) << added.message();
  }
  EXPECT_TRUE(packer.Finish().ok());
  return rows;
}

/// A line of one-byte ids, one for each character of `text`.
Line Letters(const std::string& text, std::uint64_t document) {
  Line line = {{}, {}, text, document};
  for (std::size_t at = 0; at < text.size(); ++at) {
    line.ids.push_back(100 + static_cast<std::uint32_t>(text[at]));
    line.ends.push_back(static_cast<std::uint32_t>(at + 1));
  }
  return line;
}

TEST(RowPackerTest, MakesTheRowsOfTheExample) {
  const std::vector<Line> lines = {{{300, 5}, {6, 12}, "猫が鳴く", 1}, {{301}, {3}, "犬", 1}};
  EXPECT_EQ(Pack(WithNewline(4), lines),
            (std::vector<Row>{{{2, 300, 5, 4, 301}, {5, 16, 6}}, {{301, 2, 0, 0, 0}, {2, 1, 1}}}));
}

TEST(RowPackerTest, AStreamOfNothingHasNoRows) { EXPECT_TRUE(Pack(WithNewline(4), {}).empty()); }

TEST(RowPackerTest, AnEmptyLineIsItsEnd) {
  EXPECT_EQ(Pack(WithNewline(3), {{{}, {}, "", 0}}), (std::vector<Row>{{{2, 2, 0, 0}, {2, 1, 1}}}));
}

TEST(RowPackerTest, WhatFillsTheLastRowExactlyBeginsNoOther) {
  // eos a b c eos: four targets.
  EXPECT_EQ(Pack(WithNewline(4), {Letters("abc", 0)}),
            (std::vector<Row>{{{2, 197, 198, 199, 2}, {5, 4, 4}}}));
  EXPECT_EQ(Pack(WithNewline(2), {Letters("abc", 0)}),
            (std::vector<Row>{{{2, 197, 198}, {3, 2, 2}}, {{198, 199, 2}, {3, 2, 2}}}));
  EXPECT_EQ(Pack(WithNewline(1), {Letters("a", 0)}),
            (std::vector<Row>{{{2, 197}, {2, 1, 1}}, {{197, 2}, {2, 1, 1}}}));
}

TEST(RowPackerTest, NewlineStandsBetweenLinesAndEosBehindDocuments) {
  EXPECT_EQ(Pack(WithNewline(9), {Letters("a", 0), Letters("b", 0), Letters("c", 7)}),
            (std::vector<Row>{{{2, 197, 4, 198, 2, 199, 2, 0, 0, 0}, {7, 6, 6}}}));
}

TEST(RowPackerTest, EosStandsBehindEachLineWhereThereIsNoNewline) {
  EXPECT_EQ(Pack(ByLine(7), {Letters("a", 0), Letters("b", 0), Letters("c", 7)}),
            (std::vector<Row>{{{2, 197, 2, 198, 2, 199, 2, 2}, {7, 6, 6}}}));
}

TEST(RowPackerTest, CharactersBelongToTheIdWithTheirFirstByte) {
  // Bytes of 猫 as ids of their own; a row ends inside the character.
  const std::vector<Line> lines = {{{10, 11, 12}, {1, 2, 3}, "猫", 0}};
  EXPECT_EQ(Pack(WithNewline(1), lines),
            (std::vector<Row>{
                {{2, 10}, {2, 1, 1}}, {{10, 11}, {2, 1, 0}}, {{11, 12}, {2, 1, 0}}, {{12, 2}, {2, 1, 1}}}));
}

TEST(RowPackerTest, AnIdMayHoldNoText) {
  // An id that a tokenizer puts in front, which ends where it begins.
  EXPECT_EQ(Pack(WithNewline(3), {{{9, 10}, {0, 1}, "x", 0}}),
            (std::vector<Row>{{{2, 9, 10, 2}, {4, 2, 2}}}));
}

TEST(RowPackerTest, RefusesEndsThatDoNotFit) {
  const auto add = [](const Line& line) {
    RowPacker packer(WithNewline(4), [](auto, const auto&) { return Status(); });
    return packer.Add(line.ids, line.ends, line.text, line.document).code();
  };
  EXPECT_EQ(add({{1, 2}, {1}, "ab", 0}), Code::kInternal);
  EXPECT_EQ(add({{1, 2}, {1, 3}, "ab", 0}), Code::kInternal);
  EXPECT_EQ(add({{1, 2}, {2, 1}, "ab", 0}), Code::kInternal);
}

TEST(RowPackerTest, AFailureOfTheTakerComesBack) {
  RowPacker packer(WithNewline(1),
                   [](auto, const auto&) { return Status(Code::kResourceExhausted, "full"); });
  const Line line = Letters("ab", 0);
  EXPECT_EQ(packer.Add(line.ids, line.ends, line.text, 0).message(), "full");
}

TEST(RowPackerTest, EveryIdButTheFirstIsATargetOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Line> lines;
    Ids stream = {kEos};
    std::uint64_t bytes = 0;
    const bool newline = random() % 2 == 0;
    for (std::uint64_t document = 0; document < random() % 5; ++document)
      for (std::size_t left = random() % 4; left-- > 0;) {
        lines.push_back(Letters(std::string(random() % 9, 'x'), document));
        stream.insert(stream.end(), lines.back().ids.begin(), lines.back().ids.end());
        stream.push_back(newline && left > 0 ? kNewline : kEos);
        bytes += lines.back().text.size() + 1;
      }
    const auto seq_len = static_cast<std::uint32_t>(1 + random() % 12);
    const std::vector<Row> rows = Pack(newline ? WithNewline(seq_len) : ByLine(seq_len), lines);
    Ids targets = {kEos};
    std::uint64_t counted = 0;
    for (const Row& row : rows) {
      ASSERT_EQ(row.ids.size(), seq_len + 1);
      ASSERT_EQ(row.ids[0], targets.back()) << "a row begins with the last target of the one before";
      targets.insert(targets.end(), row.ids.begin() + 1, row.ids.begin() + row.facts.length);
      counted += row.facts.bytes;
      ASSERT_EQ(row.facts.bytes, row.facts.chars);
    }
    ASSERT_EQ(targets, stream);
    ASSERT_EQ(counted, bytes);
  }
}

}  // namespace
}  // namespace pipeline
