#include "stages/export/packed/labelled_documents.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/stages/export/packed/packer_rows.h"

namespace pipeline {
namespace {

using Ids = PackerIds;
using Row = PackerRow;

struct LabelledLine {
  Ids ids;
  std::uint32_t label = 0;
  std::uint64_t document = 0;
};

/// `no` is one id, `いい` are two.
const LabelAnswers kLabels = {{{"no", {100}}, {2}}, {{"いい", {101, 102}}, {3, 6}}};

std::vector<Row> PackLabelled(const RowRules& rules, const std::vector<LabelledLine>& lines,
                              std::uint64_t* cut = nullptr, std::vector<Ids>* segments = nullptr,
                              const LabelAnswers& labels = kLabels) {
  EXPECT_TRUE(CheckLabelRoom(labels, rules).ok());
  std::vector<Row> rows;
  std::uint64_t scored = 0;
  LabelledDocuments documents(rules, TakeInto(rows, segments, scored));
  for (const LabelledLine& line : lines) {
    const Status added = documents.Add(line.ids, labels[line.label], line.document);
    EXPECT_TRUE(added.ok()) << added.message();
  }
  EXPECT_TRUE(documents.Finish().ok());
  EXPECT_EQ(documents.scored(), scored);
  if (cut != nullptr) *cut = documents.cut_documents();
  return rows;
}

TEST(LabelledDocumentsTest, MakesTheRowOfTheExample) {
  EXPECT_EQ(PackLabelled(WithNewline(8), {{{5}, 0, 0}, {{6}, 1, 1}}, nullptr, nullptr,
                         {{{"猫", {300}}, {3}}, {{"犬", {301}}, {3}}}),
            (std::vector<Row>{{{2, 5, 4, 300, 2, 6, 4, 301, 2}, {9, 8, 4}, {0, 0, 0, 1, 1, 0, 0, 1, 1}}}));
}

TEST(LabelledDocumentsTest, TheLabelIsTheLastLineAndAloneIsScored) {
  std::vector<Ids> segments;
  EXPECT_EQ(PackLabelled(WithNewline(12), {{{7, 8}, 0, 0}, {{9}, 0, 0}, {{6}, 1, 5}}, nullptr, &segments),
            (std::vector<Row>{{{2, 7, 8, 4, 9, 4, 100, 2, 6, 4, 101, 102, 2},
                               {13, 10, 6},
                               {0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1}}}));
  EXPECT_EQ(segments, (std::vector<Ids>{{1, 8}}));
}

TEST(LabelledDocumentsTest, WithoutNewlineIdsFollowEachOther) {
  EXPECT_EQ(PackLabelled(Joined(6), {{{7, 8}, 0, 0}, {{9}, 0, 0}, {{}, 1, 5}}),
            (std::vector<Row>{{{2, 7, 8, 9, 100, 2, 2}, {6, 3, 3}, {0, 0, 0, 0, 1, 1, 0}},
                              {{2, 101, 102, 2, 2, 2, 2}, {4, 7, 3}, {0, 1, 1, 1, 0, 0, 0}}}));
}

TEST(LabelledDocumentsTest, ADocumentOfWordsEndsBeforeItsLabel) {
  std::vector<Ids> segments;
  std::uint64_t cut = 0;
  EXPECT_EQ(PackLabelled(OfWords(12), {{{7, 8}, 0, 0}, {{9}, 0, 0}, {{6}, 0, 5}}, &cut, &segments),
            (std::vector<Row>{{{2, 1, 7, 8, 9, 2, 100, 2, 1, 6, 2, 100, 2},
                               {13, 6, 6},
                               {0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1}}}));
  EXPECT_EQ(segments, (std::vector<Ids>{{1, 8}}));
  EXPECT_EQ(cut, 0u);
  EXPECT_EQ(PackLabelled(OfWords(6), {{{7, 8, 9}, 0, 0}}, &cut),
            (std::vector<Row>{{{2, 1, 7, 8, 2, 100, 2}, {7, 3, 3}, {0, 0, 0, 0, 0, 1, 1}}}));
  EXPECT_EQ(cut, 1u);
  EXPECT_FALSE(CheckLabelRoom(kLabels, OfWords(5)).ok());
  EXPECT_TRUE(CheckLabelRoom(kLabels, OfWords(6)).ok());
}

TEST(LabelledDocumentsTest, ALongDocumentLosesItsLastIdsAndKeepsItsLabel) {
  std::uint64_t cut = 0;
  const std::vector<Row> whole = {{{2, 7, 8, 9, 4, 100, 2}, {7, 3, 3}, {0, 0, 0, 0, 0, 1, 1}}};
  EXPECT_EQ(PackLabelled(WithNewline(6), {{{7, 8, 9}, 0, 0}}, &cut), whole);
  EXPECT_EQ(cut, 0u);
  EXPECT_EQ(PackLabelled(WithNewline(6), {{{7, 8, 9, 10}, 0, 0}}, &cut), whole);
  EXPECT_EQ(cut, 1u);
  // The end of a line may be the last id of the text, or the first that is lost.
  EXPECT_EQ(PackLabelled(WithNewline(6), {{{7, 8}, 0, 0}, {{9, 9}, 0, 0}, {{9}, 0, 0}}, &cut),
            (std::vector<Row>{{{2, 7, 8, 4, 4, 100, 2}, {7, 3, 3}, {0, 0, 0, 0, 0, 1, 1}}}));
  EXPECT_EQ(cut, 1u);
  EXPECT_EQ(PackLabelled(WithNewline(6), {{{7, 8, 9}, 0, 0}, {{}, 0, 0}}, &cut), whole);
  EXPECT_EQ(cut, 1u);
}

TEST(LabelledDocumentsTest, NothingGivesNoRows) { EXPECT_TRUE(PackLabelled(WithNewline(6), {}).empty()); }

TEST(LabelledDocumentsTest, RefusesALabelBesideWhichNoTextFits) {
  EXPECT_EQ(CheckLabelRoom(kLabels, WithNewline(4)).message(),
            "labels: 'いい' and the ends of lines take 4 ids, and a row has room for 4, so that no text fits "
            "beside it; give a larger `seq_len` or a shorter name");
  EXPECT_TRUE(CheckLabelRoom(kLabels, Joined(4)).ok());
  EXPECT_TRUE(CheckLabelRoom(kLabels, WithNewline(5)).ok());
}

TEST(LabelledDocumentsTest, RefusesTwoLabelsOfOneDocument) {
  LabelledDocuments documents(WithNewline(9), [](auto, const auto&, auto, auto) { return Status(); });
  const Ids ids = {7};
  EXPECT_TRUE(documents.Add(ids, kLabels[0], 3).ok());
  EXPECT_TRUE(documents.Add(ids, kLabels[0], 3).ok());
  EXPECT_EQ(
      documents.Add(ids, kLabels[1], 3).message(),
      "packed rows: the lines of document 3 have the labels 'no' and 'いい', and a document has one; let "
      "each labelled record be a document");
}

TEST(LabelledDocumentsTest, EveryDocumentIsInOneRowWithItsLabel) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const auto seq_len = static_cast<std::uint32_t>(5 + random() % 20);
    const bool newline = random() % 2 == 0;
    std::vector<LabelledLine> lines;
    std::map<Ids, int> wanted;  // documents
    std::uint64_t cut = 0, bytes = 0, all_cut = 0, counted = 0;
    for (std::uint64_t document = 0; document < random() % 9; ++document) {
      const auto label = static_cast<std::uint32_t>(random() % 2);
      Ids text;
      for (std::size_t count = 1 + random() % 3, line = 0; line < count; ++line) {
        if (line > 0 && newline) text.push_back(kNewline);
        Ids ids;
        for (std::size_t left = random() % 12; left > 0; --left)
          ids.push_back(10 + static_cast<std::uint32_t>(random() % 50));
        text.insert(text.end(), ids.begin(), ids.end());
        lines.push_back({ids, label, document});
      }
      const std::size_t room = seq_len - kLabels[label].label.ids.size() - (newline ? 2 : 1);
      all_cut += text.size() > room ? 1 : 0;
      text.resize(std::min(room, text.size()));
      if (newline) text.push_back(kNewline);
      text.insert(text.end(), kLabels[label].label.ids.begin(), kLabels[label].label.ids.end());
      text.push_back(kEos);
      ++wanted[text];
      bytes += kLabels[label].label.name.size() + 1;
    }
    std::map<Ids, int> found;
    for (const Row& row : PackLabelled(newline ? WithNewline(seq_len) : Joined(seq_len), lines, &cut)) {
      ASSERT_EQ(row.ids.size(), seq_len + 1);
      ASSERT_EQ(row.ids[0], kEos);
      counted += row.facts.bytes;
      Ids document;
      for (std::uint32_t at = 1; at < row.facts.length; ++at) {
        document.push_back(row.ids[at]);
        ASSERT_EQ(row.weights[at], row.ids[at] >= 100 || row.ids[at] == kEos ? 1u : 0u);
        if (row.ids[at] != kEos) continue;
        ++found[document];
        document.clear();
      }
      ASSERT_TRUE(document.empty()) << "cut by the end of the row";
    }
    ASSERT_EQ(found, wanted);
    ASSERT_EQ(cut, all_cut);
    ASSERT_EQ(counted, bytes);
  }
}

}  // namespace
}  // namespace pipeline
