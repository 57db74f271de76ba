#include "formats/line_cutter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/digest.h"
#include "tests/support/cut_all.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

std::vector<std::string> Texts(const Cut& cut) {
  std::vector<std::string> texts;
  for (const Cut::Record& record : cut.records) texts.push_back(record.bytes);
  return texts;
}

// Text with everything in it that rules look at.
std::string RandomText(std::mt19937& random, std::size_t pieces) {
  static const std::vector<std::string> kPieces = {
      "a",  "bc",   "猫",  "。",           ".",          "\n", "\n",    "\n\n",       "\r\n",    "\r\n\r\n",
      "\r", "\xFF", "\0"s, "長い行が続く", "0123456789", " ",  "\n \n", "\n\u3000\n", "\xE3\x80"};
  std::string text = random() % 4 == 0 ? "\xEF\xBB\xBF" : "";
  for (std::size_t i = 0; i < pieces; ++i) text += kPieces[random() % kPieces.size()];
  if (random() % 4 == 0) std::replace(text.begin(), text.end(), '\n', '\r');
  return text;
}

void SetRules2(std::mt19937& random, LineRules& rules) {
  rules.space_is_blank = random() % 2 == 0;
  rules.cr_may_end_lines = random() % 2 == 0;
}

TEST(LineCutterTest, ExampleOfTheFormatPage) {
  LineRules rules;
  rules.partition_bytes = 7;
  const std::string text = "\xEF\xBB\xBF\r\n猫\r\nA\n\nbc";
  const Cut cut = CutAll(text, rules);
  const std::uint64_t first = 0x981a1a325d792429, second = 0x22775e3bd96f68bf;
  EXPECT_EQ(first, Hash64("\xE7\x8C\xAB\nA"));
  EXPECT_EQ(cut.records, (std::vector<Cut::Record>{{"猫", 0, 0, 0, first, 0, false},
                                                   {"A", 0, 1, 0, first, 0, false},
                                                   {"bc", 1, 0, 1, second, 0, false}}));
  ASSERT_EQ(cut.partitions.size(), 2u);
  EXPECT_EQ(cut.partitions[0],
            (Cut::Partition{0, 13, 1, {.lines = 2, .line_bytes = 4, .blank_lines = 1, .crlf = 1}}));
  EXPECT_EQ(cut.partitions[1], (Cut::Partition{1, 15, 2, {.lines = 1, .line_bytes = 2}}));
  EXPECT_EQ(cut.outside, (CutCounts{.blank_lines = 1, .bom = 1}));
  EXPECT_EQ(cut.documents, 2u);

  rules.partition_bytes = 8;
  EXPECT_EQ(CutAll(text, rules).partitions.size(), 1u);
}

TEST(LineCutterTest, TheFirstDocumentsEndAsTheInputWould) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    const std::string text = RandomText(random, 60);
    LineRules rules;
    rules.documents = round % 2 == 0 ? Documents::kBlankLine : Documents::kLine;
    rules.partition_bytes = 1 + random() % 40;
    const Cut all = CutAll(text, rules);
    rules.max_documents = random() % 6;
    const Cut first = CutAll(text, rules, [&random] { return 1 + random() % 9; });
    ASSERT_TRUE(first.SameAs(CutAll(text, rules))) << round;  // however it is fed
    std::vector<Cut::Record> wanted;
    for (const Cut::Record& record : all.records)
      if (record.document < rules.max_documents) wanted.push_back(record);
    ASSERT_EQ(first.records, wanted) << round;
    ASSERT_EQ(first.documents, std::min(all.documents, rules.max_documents));
    ASSERT_EQ(first.partitions.empty(), wanted.empty());
    if (!wanted.empty()) {
      ASSERT_EQ(first.partitions.size(), wanted.back().partition + 1u);
    }
  }
}

TEST(LineCutterTest, EmptyAndBlankInputsHaveNoPartition) {
  EXPECT_TRUE(CutAll("").partitions.empty());
  const Cut cut = CutAll("\n\r\n\n\r");
  EXPECT_TRUE(cut.records.empty());
  EXPECT_TRUE(cut.partitions.empty());
  EXPECT_EQ(cut.outside, CutCounts{.blank_lines = 4});
  EXPECT_EQ(cut.raw_bytes, 5u);
  EXPECT_EQ(cut.documents, 0u);
}

TEST(LineCutterTest, BlankLinesAfterABorderBelongToTheClosedPartition) {
  LineRules rules;
  rules.partition_bytes = 1;
  const Cut cut = CutAll("a\n\n\n\nb\n\n\n", rules);
  ASSERT_EQ(cut.partitions.size(), 2u);
  EXPECT_EQ(cut.partitions[0].raw_end, 5u);
  EXPECT_EQ(cut.partitions[0].counts.blank_lines, 3u);
  EXPECT_EQ(cut.partitions[1].raw_end, 9u);
  EXPECT_EQ(cut.partitions[1].counts.blank_lines, 2u);
  EXPECT_EQ(cut.outside, CutCounts{});
}

TEST(LineCutterTest, EachLineIsADocumentWhereTheRulesSaySo) {
  LineRules rules;
  rules.documents = Documents::kLine;
  const Cut cut = CutAll("a\n\nb\r\nb", rules);
  EXPECT_EQ(Texts(cut), (std::vector<std::string>{"a", "b", "b"}));
  EXPECT_EQ(cut.records[0].document, 0u);
  EXPECT_EQ(cut.records[2].document, 2u);
  EXPECT_EQ(cut.records[1].key, cut.records[2].key);
  EXPECT_EQ(cut.records[0].key, Hash64("a"));
  EXPECT_EQ(cut.documents, 3u);
}

TEST(LineCutterTest, KeyDoesNotDependOnLineEndsOrOnThePlaceInTheInput) {
  for (const std::size_t line : {1u, 7u, 340u, 341u, 511u, 1022u, 1023u, 1024u, 1025u, 3000u}) {
    std::string document;
    while (document.size() < 2500) document += std::string(line, 'x') + "\n";
    std::string crlf;
    for (const char c : document) crlf += c == '\n' ? "\r\n" : std::string(1, c);
    const std::uint64_t key = Hash64(document.substr(0, 1024));
    EXPECT_EQ(CutAll(document + "\n" + "other\n").records[0].key, key) << line;
    EXPECT_EQ(CutAll(document).records[0].key, key) << line;
    EXPECT_EQ(CutAll(document.substr(0, document.size() - 1)).records[0].key, key) << line;
    EXPECT_EQ(CutAll(crlf + "\r\nother\r\n", {}, 1).records[0].key, key) << line;
  }
  // Shorter than 1 KiB, and of exactly that size with and without what would be its last line end.
  for (const std::size_t size : {1u, 1022u, 1023u, 1024u}) {
    const std::string document(size, 'x');
    for (const std::string& end : {""s, "\n"s, "\r\n"s, "\n\nother"s, "\r\n\r\nother"s})
      EXPECT_EQ(CutAll(document + end).records[0].key, Hash64(document)) << size;
  }
}

TEST(LineCutterTest, LongLineIsSplitAfterASentence) {
  LineRules rules;
  rules.max_record_bytes = 12;
  Cut cut = CutAll("猫だ。犬だ\nあいうえおか\nshort\n", rules);
  EXPECT_EQ(Texts(cut), (std::vector<std::string>{"猫だ。", "犬だ", "あいうえ", "おか", "short"}));
  EXPECT_EQ(cut.partitions[0].counts, (CutCounts{.lines = 3, .line_bytes = 38, .long_split = 2}));
  EXPECT_EQ(cut.records[1].index, 1u);
  EXPECT_EQ(cut.records[1].piece, 1u);
  EXPECT_EQ(cut.records[2].piece, 0u);
  EXPECT_EQ(cut.records[1].key, Hash64("猫だ。犬だ\nあいうえおか\nshort"));

  cut = CutAll("Hello. How are you? Fine!", rules);
  EXPECT_EQ(Texts(cut), (std::vector<std::string>{"Hello.", " How are you", "? Fine!"}));
  cut = CutAll(std::string(30, '\x80'), rules);  // no character to spare
  EXPECT_EQ(Texts(cut), (std::vector<std::string>{std::string(12, '\x80'), std::string(12, '\x80'),
                                                  std::string(6, '\x80')}));
}

TEST(LineCutterTest, LineOfExactlyTheLimitIsNotLong) {
  LineRules rules;
  rules.max_record_bytes = 4;
  for (const std::string& end : {""s, "\n"s, "\r\n"s, "\r"s}) {
    const Cut cut = CutAll("abcd" + end, rules, 1);
    EXPECT_EQ(Texts(cut), std::vector<std::string>{"abcd"});
    EXPECT_EQ(Texts(CutAll("abcde" + end, rules, 1)), (std::vector<std::string>{"abcd", "e"}));
  }
}

TEST(LineCutterTest, LongLineIsSetAsideInPieces) {
  LineRules rules;
  rules.max_record_bytes = 4;
  rules.on_long = OnLong::kQuarantine;
  const Cut cut = CutAll("ab\n0123456789\r\ncd\n", rules);
  ASSERT_EQ(Texts(cut), (std::vector<std::string>{"ab", "0123", "4567", "89", "cd"}));
  EXPECT_FALSE(cut.records[0].set_aside);
  EXPECT_TRUE(cut.records[1].set_aside && cut.records[2].set_aside && cut.records[3].set_aside);
  EXPECT_EQ(cut.records[4].index, 4u);
  EXPECT_EQ(cut.partitions[0].counts,
            (CutCounts{.lines = 3, .line_bytes = 14, .crlf = 1, .long_quarantined = 1}));
}

TEST(LineCutterTest, LongLineFailsWhereTheRulesSaySo) {
  LineRules rules;
  rules.max_record_bytes = 4;
  rules.on_long = OnLong::kFail;
  const Cut cut = CutAll("ab\n01234\n", rules);
  EXPECT_EQ(Texts(cut), std::vector<std::string>{"ab"});
  EXPECT_EQ(
      cut.error,
      "line at byte 3 of the text is longer than max_record_bytes (4); raise it, or set on_long: quarantine");
}

TEST(LineCutterTest, DocumentIsCutWhenItGrowsTooLarge) {
  LineRules rules;
  rules.max_document_bytes = 6;
  const Cut cut = CutAll("aa\nbb\ncc\ndd\n\nee\n", rules);
  ASSERT_EQ(cut.partitions.size(), 2u);
  EXPECT_EQ(cut.partitions[0], (Cut::Partition{0, 6, 0, {.lines = 2, .line_bytes = 4, .document_cut = 1}}));
  EXPECT_EQ(cut.partitions[1].document_end, 2u);
  EXPECT_EQ(cut.records[2].partition, 1u);
  EXPECT_EQ(cut.records[2].index, 0u);
  EXPECT_EQ(cut.records[2].document, 0u);
  EXPECT_EQ(cut.records[2].key, cut.records[0].key);
  EXPECT_EQ(cut.records[4].document, 1u);
}

TEST(LineCutterTest, OtherEncodingsAreRefusedByName) {
  EXPECT_NE(CutAll("\xFF\xFE"
                   "a\0"s)
                .error.find("UTF-16LE"),
            std::string::npos);
  EXPECT_NE(CutAll("\xFE\xFF\0a"s, {}, 1).error.find("UTF-16BE"), std::string::npos);
  EXPECT_NE(CutAll("\xFF\xFE\0\0a"s, {}, 1).error.find("UTF-32LE"), std::string::npos);
  EXPECT_NE(CutAll("\0\0\xFE\xFF"s).error.find("UTF-32BE"), std::string::npos);
  EXPECT_NE(CutAll("\xFF\xFE").error.find("UTF-16LE"), std::string::npos);
  EXPECT_EQ(CutAll("\0\0\xFE"s).error, "");
}

TEST(LineCutterTest, ChunksDoNotMatter) {
  std::mt19937 random(1);
  for (int round = 0; round < 600; ++round) {
    LineRules rules;
    rules.documents = random() % 2 == 0 ? Documents::kBlankLine : Documents::kLine;
    rules.on_long = random() % 2 == 0 ? OnLong::kSplit : OnLong::kQuarantine;
    rules.partition_bytes = 1 + random() % 60;
    rules.max_document_bytes = 1 + random() % 60;
    rules.max_record_bytes = 4 + random() % 30;
    SetRules2(random, rules);
    const std::string text = RandomText(random, random() % 120);
    const Cut whole = CutAll(text, rules, text.size() + 1);
    ASSERT_TRUE(whole.SameAs(CutAll(text, rules, 1))) << round;
    ASSERT_TRUE(whole.SameAs(CutAll(text, rules, [&] { return 1 + random() % 9; }))) << round;
    std::uint64_t raw = 0;
    for (const Cut::Partition& partition : whole.partitions) {
      ASSERT_GT(partition.raw_end, raw);  // none is empty
      raw = partition.raw_end;
    }
    ASSERT_EQ(whole.raw_bytes, text.size());
    ASSERT_TRUE(whole.partitions.empty() || raw == text.size());
  }
}

TEST(LineCutterTest, StartsAtAnyPartitionThatBeginsADocument) {
  std::mt19937 random(2);
  int starts = 0;
  for (int round = 0; round < 300; ++round) {
    LineRules rules;
    rules.documents = random() % 2 == 0 ? Documents::kBlankLine : Documents::kLine;
    rules.partition_bytes = 1 + random() % 40;
    rules.max_document_bytes = 30;
    rules.max_record_bytes = 16;
    SetRules2(random, rules);
    const std::string text = RandomText(random, 100);
    const Cut whole = CutAll(text, rules);
    for (std::size_t p = 0; p < whole.partitions.size(); ++p) {
      const Cut::Partition& before = whole.partitions[p];
      const std::string_view front = std::string_view(text).substr(0, before.raw_end);
      const bool ends =
          EndsDocument(front.substr(front.size() - std::min(front.size(), kBorderBytes)), rules, whole.ends);
      if (before.raw_end < text.size()) {
        ASSERT_EQ(ends, before.counts.document_cut == 0) << round << ' ' << p;
      }
      if (!ends) continue;
      const Cut part = CutAll(text, rules, [] { return 5; },
                              {before.raw_end, before.document_end, before.partition + 1, whole.ends});
      std::vector<Cut::Record> expected;
      for (const Cut::Record& record : whole.records)
        if (record.partition > p) expected.push_back(record);
      ASSERT_EQ(part.records, expected) << round << ' ' << p;
      ASSERT_EQ(part.partitions.size(), whole.partitions.size() - p - 1);
      for (std::size_t i = 0; i < part.partitions.size(); ++i)
        ASSERT_EQ(part.partitions[i], whole.partitions[p + 1 + i]);
      ASSERT_EQ(part.documents, whole.documents);
      ASSERT_EQ(part.raw_bytes, whole.raw_bytes);
      ++starts;
    }
  }
  EXPECT_GT(starts, 500);
}

TEST(LineCutterTest, HundredMegabyteLineNeedsMemoryForOneRecord) {
  const std::string block(1 << 20, 'x');
  for (const OnLong on_long : {OnLong::kSplit, OnLong::kQuarantine}) {
    LineRules rules;
    rules.on_long = on_long;
    LineCutter cutter(rules);
    std::uint64_t bytes = 0, most = 0;
    for (int fed = 0;;) {
      const auto event = cutter.Next();
      ASSERT_TRUE(event.ok());
      most = std::max<std::uint64_t>(most, cutter.memory_bytes());
      if (*event == LineCutter::Event::kInputEnd) break;
      if (*event == LineCutter::Event::kNeedInput) {
        if (fed++ < 100)
          cutter.Feed(block);
        else
          cutter.FinishInput();
      } else if (*event != LineCutter::Event::kPartitionEnd) {
        bytes += cutter.record().bytes.size();
      }
    }
    EXPECT_EQ(bytes, std::uint64_t{100} << 20);
    EXPECT_LE(most, 2 * (rules.max_record_bytes + block.size() + 4096));
    EXPECT_EQ(cutter.partitions(), 2u);  // cut once by max_document_bytes
  }
}

}  // namespace
}  // namespace pipeline
