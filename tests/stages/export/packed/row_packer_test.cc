#include "stages/export/packed/row_packer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/stages/export/packed/after_first.h"
#include "tests/stages/export/packed/packer_rows.h"

namespace pipeline {
namespace {

using Ids = PackerIds;
using Row = PackerRow;

struct Line {
  Ids ids;
  Ids ends;
  std::string text;
  std::uint64_t document = 0;
};

using NewPacker = std::unique_ptr<RowPacker> (*)(const RowRules&, TakeRow, std::unique_ptr<TargetWeights>);

std::vector<Row> Pack(const RowRules& rules, const std::vector<Line>& lines,
                      NewPacker packing = NewStreamPacker, std::vector<Ids>* segments = nullptr,
                      std::unique_ptr<TargetWeights> target_weights = nullptr,
                      std::uint64_t* unscored_documents = nullptr) {
  std::vector<Row> rows;
  std::uint64_t scored = 0;
  const auto packer = packing(rules, TakeInto(rows, segments, scored), std::move(target_weights));
  for (const Line& line : lines) {
    const Status added = packer->Add(line.ids, line.ends, line.text, line.document);
    EXPECT_TRUE(added.ok()) << added.message();
  }
  EXPECT_TRUE(packer->Finish().ok());
  EXPECT_EQ(packer->scored(), scored);
  if (unscored_documents != nullptr) *unscored_documents = packer->unscored_documents();
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

TEST(RowPackerTest, ADocumentOfWordsStandsBetweenTwoIdsAndItsLinesStandBesideEachOther) {
  const std::vector<Line> lines = {Letters("a", 0), Letters("b", 0), {{}, {}, " ", 3}, Letters("c", 7)};
  EXPECT_EQ(Pack(OfWords(10), lines),
            (std::vector<Row>{{{2, 1, 197, 198, 2, 1, 2, 1, 199, 2, 0}, {10, 7, 7}}}));
  // The id in front has no text; the end of the line is that of the next id, also of the next row.
  EXPECT_EQ(Pack(OfWords(2), {Letters("a", 0), Letters("b", 0)}),
            (std::vector<Row>{{{2, 1, 197}, {3, 1, 1}}, {{197, 198, 2}, {3, 3, 3}}}));
  EXPECT_EQ(Pack(OfWords(1), {Letters("a", 0)}),
            (std::vector<Row>{{{2, 1}, {2, 0, 0}}, {{1, 197}, {2, 1, 1}}, {{197, 2}, {2, 1, 1}}}));
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
    const auto packer =
        NewStreamPacker(WithNewline(4), [](auto, const auto&, auto, auto) { return Status(); });
    return packer->Add(line.ids, line.ends, line.text, line.document).code();
  };
  EXPECT_EQ(add({{1, 2}, {1}, "ab", 0}), Code::kInternal);
  EXPECT_EQ(add({{1, 2}, {1, 3}, "ab", 0}), Code::kInternal);
  EXPECT_EQ(add({{1, 2}, {2, 1}, "ab", 0}), Code::kInternal);
}

TEST(RowPackerTest, AFailureOfTheTakerComesBack) {
  const auto packer = NewStreamPacker(
      WithNewline(1), [](auto, const auto&, auto, auto) { return Status(Code::kResourceExhausted, "full"); });
  const Line line = Letters("ab", 0);
  EXPECT_EQ(packer->Add(line.ids, line.ends, line.text, 0).message(), "full");
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

TEST(RowPackerTest, ASegmentIsADocument) {
  std::vector<Ids> segments;
  // eos | a newline b eos | c eos | d eos, cut behind the third id.
  Pack(WithNewline(3), {Letters("a", 0), Letters("b", 0), Letters("c", 7), Letters("d", 8)}, NewStreamPacker,
       &segments);
  EXPECT_EQ(segments, (std::vector<Ids>{{1}, {2}, {1}}));
  segments.clear();
  Pack(ByLine(9), {Letters("a", 0), Letters("b", 0), Letters("c", 7)}, NewStreamPacker, &segments);
  EXPECT_EQ(segments, (std::vector<Ids>{{1, 5}})) << "eos behind a line ends no document";
}

std::vector<Row> BestFit(std::uint32_t seq_len, const std::vector<Line>& lines) {
  return Pack(WithNewline(seq_len), lines, NewBestFitPacker);
}

TEST(BestFitTest, PutsDocumentsWhereTheyFitBest) {
  // With eos: 3, 5, 2 and 4 ids into rows of 6 targets. 5 and 4 begin rows, 3 a third one, 2 goes to the 4.
  std::vector<Ids> segments;
  const std::vector<Line> lines = {Letters("aa", 0), Letters("bbbb", 1), Letters("c", 2), Letters("ddd", 3)};
  EXPECT_EQ(Pack(WithNewline(6), lines, NewBestFitPacker, &segments),
            (std::vector<Row>{{{2, 197, 197, 2, 0, 0, 0}, {4, 3, 3}},
                              {{2, 198, 198, 198, 198, 2, 0}, {6, 5, 5}},
                              {{2, 199, 2, 200, 200, 200, 2}, {7, 6, 6}}}));
  EXPECT_EQ(segments, (std::vector<Ids>{{1}, {1}, {1, 3}}));
}

TEST(BestFitTest, ALongDocumentIsCutAndItsRestIsPacked) {
  // Five letters and eos into rows of 4 targets: 4 and a rest of 2, to which the other document fits.
  EXPECT_EQ(BestFit(4, {Letters("abcde", 0), Letters("x", 1)}),
            (std::vector<Row>{{{2, 197, 198, 199, 200}, {5, 4, 4}}, {{200, 201, 2, 220, 2}, {5, 4, 4}}}));
  // Behind another document a rest has that one's eos before it.
  EXPECT_EQ(BestFit(4, {Letters("x", 0), Letters("abcde", 1)}),
            (std::vector<Row>{{{2, 220, 2, 201, 2}, {5, 4, 4}}, {{2, 197, 198, 199, 200}, {5, 4, 4}}}));
  // What fills a row exactly leaves no rest.
  EXPECT_EQ(BestFit(4, {Letters("abc", 0)}), (std::vector<Row>{{{2, 197, 198, 199, 2}, {5, 4, 4}}}));
  EXPECT_EQ(BestFit(1, {Letters("a", 0)}), (std::vector<Row>{{{2, 197}, {2, 1, 1}}, {{197, 2}, {2, 1, 1}}}));
}

TEST(BestFitTest, NothingHasNoRows) { EXPECT_TRUE(BestFit(4, {}).empty()); }

TEST(BestFitTest, EveryIdIsATargetOnceAndShortDocumentsAreWhole) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Line> lines;
    std::multiset<Ids> whole;
    std::multiset<std::uint32_t> all;
    std::uint64_t bytes = 0;
    const auto seq_len = static_cast<std::uint32_t>(1 + random() % 20);
    for (std::uint64_t document = 0; document < random() % 40; ++document) {
      Ids ids;
      for (std::size_t left = 1 + random() % 3; left-- > 0;) {
        lines.push_back(Letters(std::string(random() % 9, static_cast<char>('a' + document % 26)), document));
        ids.insert(ids.end(), lines.back().ids.begin(), lines.back().ids.end());
        ids.push_back(left > 0 ? kNewline : kEos);
        bytes += lines.back().text.size() + 1;
      }
      all.insert(ids.begin(), ids.end());
      if (ids.size() <= seq_len) whole.insert(ids);
    }
    std::uint64_t counted = 0, rows = 0;
    for (const Row& row : BestFit(seq_len, lines)) {
      ASSERT_EQ(row.ids.size(), seq_len + 1);
      ++rows;
      counted += row.facts.bytes;
      Ids document;
      for (std::uint32_t at = 1; at < row.facts.length; ++at) {
        const auto found = all.find(row.ids[at]);
        ASSERT_NE(found, all.end());
        all.erase(found);
        document.push_back(row.ids[at]);
        if (row.ids[at] != kEos) continue;
        if (const auto known = whole.find(document); known != whole.end()) whole.erase(known);
        document.clear();
      }
      for (std::uint32_t at = row.facts.length; at <= seq_len; ++at) ASSERT_EQ(row.ids[at], kFill);
    }
    ASSERT_TRUE(all.empty());
    ASSERT_TRUE(whole.empty()) << "a document that a row holds was cut";
    ASSERT_EQ(counted, bytes);
  }
}

/// Weights that open behind the first letter from `letter` on.
std::unique_ptr<TargetWeights> From(char letter) {
  return std::make_unique<AfterFirst>(100 + static_cast<std::uint32_t>(letter));
}

TEST(RowPackerTest, TheIdInFrontIsTheFirstOfItsSegmentAndNoScoredTarget) {
  std::vector<Ids> segments;
  Pack(OfWords(9), {Letters("a", 0), Letters("b", 0), Letters("c", 7)}, NewStreamPacker, &segments);
  EXPECT_EQ(segments, (std::vector<Ids>{{1, 5}}));
  std::uint64_t unscored = 0;
  for (const NewPacker packing : {NewPacker(NewStreamPacker), NewPacker(NewBestFitPacker)})
    EXPECT_EQ(Pack(OfWords(9), {Letters("az", 0), Letters("b", 0), Letters("c", 7)}, packing, nullptr,
                   From('z'), &unscored),
              (std::vector<Row>{
                  {{2, 1, 197, 222, 198, 2, 1, 199, 2, 0}, {9, 3, 3}, {0, 0, 0, 0, 1, 1, 0, 0, 0, 0}}}));
  EXPECT_EQ(unscored, 1u);
}

TEST(WeightedRowsTest, ARowThatCutsADocumentGoesOnInTheNext) {
  // eos a Z | b newline c | eos d eos, with weights behind Z: their text alone is counted.
  std::uint64_t unscored = 0;
  const std::vector<Line> lines = {Letters("azb", 0), Letters("c", 0), Letters("d", 1)};
  EXPECT_EQ(Pack(WithNewline(2), lines, NewStreamPacker, nullptr, From('z'), &unscored),
            (std::vector<Row>{{{2, 197, 222}, {3, 0, 0}, {0, 0, 0}},
                              {{222, 198, 4}, {3, 2, 2}, {0, 1, 1}},
                              {{4, 199, 2}, {3, 2, 2}, {0, 1, 1}},
                              {{2, 200, 2}, {3, 0, 0}, {0, 0, 0}}}));
  EXPECT_EQ(unscored, 1u) << "d";
}

TEST(WeightedRowsTest, BestFitMovesWeightsWithTheirIds) {
  std::uint64_t unscored = 0;
  // Cut into a z b c and d eos; x z y eos has no room beside the rest, which e eos takes.
  const std::vector<Line> lines = {Letters("azbcd", 0), Letters("xzy", 1), Letters("e", 2)};
  EXPECT_EQ(Pack(WithNewline(4), lines, NewBestFitPacker, nullptr, From('z'), &unscored),
            (std::vector<Row>{{{2, 197, 222, 198, 199}, {5, 2, 2}, {0, 0, 0, 1, 1}},
                              {{199, 200, 2, 201, 2}, {5, 2, 2}, {0, 1, 1, 0, 0}},
                              {{2, 220, 222, 221, 2}, {5, 2, 2}, {0, 0, 0, 1, 1}}}));
  EXPECT_EQ(unscored, 1u) << "e";
}

TEST(WeightedRowsTest, PaddingHasNoWeight) {
  for (const NewPacker packing : {NewPacker(NewStreamPacker), NewPacker(NewBestFitPacker)})
    EXPECT_EQ(Pack(WithNewline(5), {Letters("za", 0)}, packing, nullptr, From('z')),
              (std::vector<Row>{{{2, 222, 197, 2, 0, 0}, {4, 2, 2}, {0, 0, 1, 1, 0, 0}}}));
}

TEST(WeightedRowsTest, ACharacterCountsWhereItsFirstByteIsScored) {
  // The id 12 opens the rest, in the middle of the bytes of the second character.
  const std::vector<Line> lines = {{{10, 11, 12, 13, 11}, {3, 4, 5, 6, 9}, "猫猫猫", 0}};
  EXPECT_EQ(
      Pack(WithNewline(9), lines, NewStreamPacker, nullptr, std::make_unique<AfterFirst>(12)),
      (std::vector<Row>{{{2, 10, 11, 12, 13, 11, 2, 0, 0, 0}, {7, 5, 2}, {0, 0, 0, 0, 1, 1, 1, 0, 0, 0}}}));
}

TEST(WeightedRowsTest, RefusesAnotherNumberOfWeights) {
  struct Fewer final : TargetWeights {
    void Weigh(std::span<const std::uint32_t> ids, std::vector<bool>& weights) override {
      weights.resize(ids.size() - 1);
    }
    bool WeighEnd(bool) override { return true; }
  };
  const auto packer = NewStreamPacker(
      WithNewline(4), [](auto, const auto&, auto, auto) { return Status(); }, std::make_unique<Fewer>());
  const Line line = Letters("ab", 0);
  EXPECT_EQ(packer->Add(line.ids, line.ends, line.text, 0).message(), "packed rows: 1 weights for 2 ids");
}

TEST(WeightedRowsTest, RowsAreThoseWithoutWeights) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    std::vector<Line> lines;
    for (std::uint64_t document = 0; document < random() % 10; ++document)
      for (std::size_t left = 1 + random() % 3; left-- > 0;) {
        std::string text;
        for (std::size_t letters = random() % 9; letters > 0; --letters)
          text.push_back(static_cast<char>('a' + random() % 26));
        lines.push_back(Letters(text, document));
      }
    const RowRules rules = WithNewline(static_cast<std::uint32_t>(1 + random() % 12));
    for (const NewPacker packing : {NewPacker(NewStreamPacker), NewPacker(NewBestFitPacker)}) {
      const std::vector<Row> plain = Pack(rules, lines, packing);
      const std::vector<Row> weighted = Pack(rules, lines, packing, nullptr, From('x'));
      ASSERT_EQ(weighted.size(), plain.size());
      for (std::size_t row = 0; row < plain.size(); ++row) {
        ASSERT_EQ(weighted[row].ids, plain[row].ids);
        ASSERT_EQ(weighted[row].facts.length, plain[row].facts.length);
        ASSERT_EQ(weighted[row].weights.size(), plain[row].ids.size());
        std::uint64_t scored = 0;
        for (const std::uint32_t weight : weighted[row].weights) scored += weight;
        ASSERT_EQ(weighted[row].facts.bytes, scored) << "each of these ids is one byte";
      }
    }
  }
}

/// The documents of lines, and how many are left out.
std::vector<Row> PackDocuments(const RowRules& rules, const std::vector<Line>& lines, std::uint64_t& empty) {
  std::vector<Row> documents;
  std::uint64_t scored = 0;
  const auto packer = NewDocumentPacker(rules, TakeInto(documents, nullptr, scored));
  for (const Line& line : lines) {
    const Status added = packer->Add(line.ids, line.ends, line.text, line.document);
    EXPECT_TRUE(added.ok()) << added.message();
  }
  EXPECT_TRUE(packer->Finish().ok());
  empty = packer->empty_documents();
  return documents;
}

TEST(DocumentPackerTest, MakesTheDocumentsOfTheExample) {
  std::uint64_t empty = 0;
  EXPECT_EQ(PackDocuments(WithNewline(0),
                          {{{300, 5}, {6, 12}, "猫が鳴く", 1}, {{301}, {3}, "犬", 1}, {{301}, {3}, "犬", 2}},
                          empty),
            (std::vector<Row>{{{300, 5, 4, 301, 2}, {5, 17, 7}}, {{301, 2}, {2, 4, 2}}}));
  EXPECT_EQ(empty, 0u);
}

TEST(DocumentPackerTest, WithoutANewlineNothingStandsBetweenLines) {
  std::uint64_t empty = 0;
  EXPECT_EQ(PackDocuments(Joined(0), {Letters("a", 0), Letters("b", 0), Letters("c", 7)}, empty),
            (std::vector<Row>{{{197, 198, 2}, {3, 4, 4}}, {{199, 2}, {2, 2, 2}}}));
}

TEST(DocumentPackerTest, ADocumentWithoutAnIdOfTextIsLeftOutAndCounted) {
  std::uint64_t empty = 0;
  EXPECT_EQ(
      PackDocuments(WithNewline(0),
                    {{{}, {}, " ", 0}, Letters("a", 1), {{}, {}, " ", 1}, {{}, {}, "", 2}, {{}, {}, " ", 2}},
                    empty),
      (std::vector<Row>{{{197, 4, 2}, {3, 3, 3}}}));
  EXPECT_EQ(empty, 2u);
  EXPECT_EQ(PackDocuments(WithNewline(0), {}, empty), std::vector<Row>());
  EXPECT_EQ(empty, 0u);
}

}  // namespace
}  // namespace pipeline
