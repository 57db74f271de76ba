// Rows of tables as LineCutter and DelimitedRow cut them: quotes, headers and sections.
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "base/digest.h"
#include "formats/delimited.h"
#include "tests/support/cut_all.h"

namespace pipeline {
namespace {

using Strings = std::vector<std::string>;

LineRules Rows(char quoted_delimiter = ',', bool header = false) {
  LineRules rules;
  rules.documents = Documents::kLine;
  rules.on_long = OnLong::kQuarantine;
  rules.quoted_delimiter = quoted_delimiter;
  rules.header = header;
  rules.max_document_bytes = UINT64_MAX;
  return rules;
}

Strings RowsOf(const Cut& cut) {
  Strings rows;
  for (const Cut::Record& record : cut.records)
    rows.push_back(record.set_aside ? "-" + record.bytes : record.bytes);
  return rows;
}

/// The fields, or {"bad"}.
Strings Split(std::string_view row, bool quotes = true) {
  DelimitedRow cutter(',', quotes);
  if (!cutter.Split(row, 100)) return {"bad"};
  EXPECT_EQ(cutter.size(), cutter.fields().size());
  return {cutter.fields().begin(), cutter.fields().end()};
}

const std::string kExampleTable =
    "id,title,body\r\n"
    "1,猫,\"a\r\n\"\"b\"\r\n"
    "2,x,y\"\n"
    "3,x\n";

TEST(RowCutterTest, ExampleOfTheFormatPage) {
  const Cut cut = CutAll(kExampleTable, Rows(',', true));
  EXPECT_EQ(cut.headers, Strings{"id,title,body"});
  EXPECT_EQ(RowsOf(cut), (Strings{"1,猫,\"a\r\n\"\"b\"", "2,x,y\"", "3,x"}));
  EXPECT_EQ(cut.records[0].key, Hash64("1,猫,\"a\n\"\"b\""));
  EXPECT_EQ(cut.records[0].key, Hash64("\x31\x2C\xE7\x8C\xAB\x2C\x22\x61\x0A\x22\x22\x62\x22"));
  EXPECT_EQ(Split(cut.records[0].bytes), (Strings{"1", "猫", "a\r\n\"b"}));
  EXPECT_EQ(Split(cut.records[1].bytes), Strings{"bad"});
  EXPECT_EQ(Split(cut.records[2].bytes), (Strings{"3", "x"}));
  EXPECT_EQ(cut.documents, 3u);
}

TEST(RowCutterTest, FieldsWithAndWithoutQuotes) {
  EXPECT_EQ(Split(""), Strings{""});
  EXPECT_EQ(Split(",a,"), (Strings{"", "a", ""}));
  EXPECT_EQ(Split("\"\",\"\"\"\",\"a,b\""), (Strings{"", "\"", "a,b"}));
  EXPECT_EQ(Split("\"a\"\"\"\"b\",c"), (Strings{"a\"\"b", "c"}));
  for (const char* bad : {"\"", "\"a", "a\"b", "a,\"b\"c", "\"a\"\"", "\"a\" ,b", " \"a\""})
    EXPECT_EQ(Split(bad), Strings{"bad"}) << bad;
  EXPECT_EQ(Split("\"a,b\"", false), (Strings{"\"a", "b\""}));
  DelimitedRow many(',', false);
  ASSERT_TRUE(many.Split(std::string(1'000'000, ','), 3));
  EXPECT_EQ(many.size(), 1'000'001u);
  EXPECT_EQ(many.fields().size(), 3u) << "memory follows what is wanted";
}

TEST(RowCutterTest, StrayQuotesEndWithTheirRow) {
  EXPECT_EQ(RowsOf(CutAll("a\"b\nc,d\"\n\"e\"f\ng\n", Rows())), (Strings{"a\"b", "c,d\"", "\"e\"f", "g"}));
  // One that nobody closes goes on to the next quote, and the row with it to its line end.
  EXPECT_EQ(RowsOf(CutAll("\"a\nb,\"c\nd\n", Rows())), (Strings{"\"a\nb,\"c", "d"}));
  EXPECT_EQ(RowsOf(CutAll("a\n\"b\nc\n", Rows())), (Strings{"a", "\"b\nc\n"}));
}

TEST(RowCutterTest, WithoutQuotesEveryLineIsARow) {
  EXPECT_EQ(RowsOf(CutAll("\"a\nb\"\n\n\"\"\n", Rows('\0'))), (Strings{"\"a", "b\"", "\"\""}));
}

TEST(RowCutterTest, LongRowsAreSetAsideWhole) {
  LineRules rules = Rows();
  rules.max_record_bytes = 8;
  const Cut cut = CutAll("a\n\"bcd\nefg\nhij\"\nk\n", rules, 1);
  EXPECT_EQ(RowsOf(cut), (Strings{"a", "-\"bcd\nefg", "-\nhij\"", "k"}));
  EXPECT_EQ(cut.partitions[0].counts.long_quarantined, 1u);
  // The end of the row was seen before its first piece was cut off.
  const std::string late = "\"bcde\"fgh\ni\n";
  for (std::size_t first = 1; first < late.size(); ++first) {
    std::size_t next = first;
    const Cut pieces = CutAll(late, rules, [&] { return std::exchange(next, 100); });
    EXPECT_EQ(RowsOf(pieces), (Strings{"-\"bcde\"fg", "-h", "i"})) << first;
  }
  rules.header = true;
  EXPECT_NE(CutAll("too,long,a,header\n1\n", rules).error.find("header at byte 0 is longer"),
            std::string::npos);
}

LineRules RowsOfLines() {
  LineRules rules = Rows();
  rules.wrong_quotes_end_lines = true;
  return rules;
}

TEST(RowCutterTest, WrongQuoteCostsItsLine) {
  const LineRules rules = RowsOfLines();
  for (const std::size_t chunk : {1u, 2u, 1000u}) {
    const auto rows = [&](std::string_view text) { return RowsOf(CutAll(text, rules, chunk)); };
    EXPECT_EQ(rows("a\n\"b\nc\nd\n"), (Strings{"a", "\"b", "c", "d"})) << "nothing closes it";
    EXPECT_EQ(rows("1,\"b\nc\n2,\"d\"\ne\n"), (Strings{"1,\"b", "c", "2,\"d\"", "e"}))
        << "what closes it is the begin of another";
    EXPECT_EQ(rows("\"a\"b,\"c\nd\n"), (Strings{"\"a\"b,\"c", "d"})) << "no further quote of the row counts";
    EXPECT_EQ(rows("\"a\nb\",\"c\nd\ne\n"), (Strings{"\"a\nb\",\"c", "d", "e"}))
        << "the first field is right";
    EXPECT_EQ(rows("\"say \\\"a\\\"\",x\nb\n"), (Strings{"\"say \\\"a\\\"\",x", "b"}));
    EXPECT_EQ(rows("\"a\r\nb\"\r\n\"c\"\rd\n\"e\"\r"), (Strings{"\"a\r\nb\"", "\"c\"\rd", "\"e\""}));
    EXPECT_EQ(rows("\"a\nb\"\rc\nd\n"), (Strings{"\"a", "b\"\rc", "d"}));
    EXPECT_EQ(rows("\"a\n\"\"b\"\nc\n"), (Strings{"\"a\n\"\"b\"", "c"})) << "nothing is wrong";
    EXPECT_EQ(rows("a\n\"b"), (Strings{"a", "\"b"}));
    for (const char* row : {"\"b", "\"a\"b,\"c", "\"a\nb\",\"c", "\"c\"\rd"})
      EXPECT_EQ(Split(row), Strings{"bad"});
  }
}

TEST(RowCutterTest, NoQuoteTakesInMoreThanTheLongestRow) {
  LineRules rules = RowsOfLines();
  rules.max_record_bytes = 8;
  for (const std::size_t chunk : {1u, 3u, 1000u}) {
    const auto rows = [&](std::string_view text) { return RowsOf(CutAll(text, rules, chunk)); };
    EXPECT_EQ(rows("a\n\"bcd\nefg\nhij\"\nk\n"), (Strings{"a", "\"bcd", "efg", "hij\"", "k"}));
    EXPECT_EQ(rows("\"abcdefghijk\nl\nm\n"), (Strings{"-\"abcdefg", "-hijk", "l", "m"}));
    EXPECT_EQ(rows("\"a\",bcdefgh,\"i\nj\"\nk\n"), (Strings{"-\"a\",bcde", "-fgh,\"i", "j\"", "k"}));
    EXPECT_EQ(rows("\"abcde\"fgh\ni\n"), (Strings{"-\"abcde\"f", "-gh", "i"}));
    EXPECT_EQ(rows("\"abcdefgh\ni\n"), (Strings{"-\"abcdefg", "-h", "i"})) << "one byte too long";
  }
  const Cut cut = CutAll("x\n\"" + std::string(1'000'000, '\n') + "a\n", rules, 100);
  EXPECT_EQ(RowsOf(cut), (Strings{"x", "\"", "a"}));
  EXPECT_LT(cut.most_memory, 10'000u);
}

TEST(RowCutterTest, RowsOfWrongQuotesAreThoseOfAnyDivisionAndAnyStart) {
  constexpr std::string_view kBytes = "aaa\"\",\n\n\r";
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::string text;
    while (text.size() < 400) text += kBytes[random() % kBytes.size()];
    LineRules rules = RowsOfLines();
    rules.max_record_bytes = 20;
    rules.partition_bytes = 40;
    const Cut whole = CutAll(text, rules);
    std::string joined;  // every byte that is no line end stands in one row
    for (const Cut::Record& record : whole.records) joined += record.bytes;
    const auto is_end = [](char byte) { return byte == '\n' || byte == '\r'; };
    std::erase_if(joined, is_end);
    std::string bytes = text;
    std::erase_if(bytes, is_end);
    EXPECT_EQ(joined, bytes);
    for (const std::size_t chunk : {1u, 7u}) EXPECT_TRUE(whole.SameAs(CutAll(text, rules, chunk))) << seed;
    for (const Cut::Partition& before : whole.partitions) {
      const Cut part =
          CutAll(text, rules, [] { return 5; }, {before.raw_end, before.document_end, before.partition + 1});
      EXPECT_TRUE(std::equal(part.records.rbegin(), part.records.rend(), whole.records.rbegin())) << seed;
      EXPECT_EQ(part.documents, whole.documents);
      // A reader that knows the end of the partition reads no further.
      const Cut front = CutAll(std::string_view(text).substr(0, before.raw_end), rules);
      ASSERT_LE(front.records.size(), whole.records.size());
      EXPECT_TRUE(std::equal(front.records.begin(), front.records.end(), whole.records.begin())) << seed;
    }
  }
}

TEST(RowCutterTest, SectionsBeginAnew) {
  const std::string one = "\xEF\xBB\xBF\nh,i\n1,\"open", two = "\xEF\xBB\xBFh,j\r\n2,b\n", three,
                    four = "h,k";
  const std::string text = one + two + three + four;
  const std::vector<std::size_t> sections = {0, one.size(), one.size() + two.size(), one.size() + two.size()};
  for (const std::size_t chunk : {1u, 3u, 1000u}) {
    const Cut cut = CutAll(
        text, Rows(',', true), [chunk] { return chunk; }, {}, sections);
    EXPECT_EQ(cut.error, "");
    EXPECT_EQ(cut.headers, (Strings{"h,i", "h,j", "h,k"}));
    EXPECT_EQ(RowsOf(cut), (Strings{"1,\"open", "2,b"}));
    EXPECT_EQ(cut.outside.bom, 1u);
    EXPECT_EQ(cut.partitions.at(0).counts.bom, 1u);
    EXPECT_EQ(cut.raw_bytes, text.size());
  }
  LineRules lines;  // a document ends with its section, a partition does not
  const Cut cut = CutAll("a\nbc\n", lines, [] { return 100; }, {}, {0, 3});
  EXPECT_EQ(RowsOf(cut), (Strings{"a", "b", "c"}));
  EXPECT_EQ(cut.records[2].document, 1u);
  EXPECT_EQ(cut.partitions.size(), 1u);
  EXPECT_NE(CutAll("ab\xFF\xFE", lines, [] { return 1; }, {}, {2}).error.find("UTF-16LE"), std::string::npos);
}

TEST(RowCutterTest, WhatIsBehindTheLimitOfASectionIsAsIfItWereNotThere) {
  const std::string one = "\xEF\xBB\xBF\nh,i\n1,\"a\nb\"\r\n", more = "\n2,b\n3,\"open\n", two = "h,j\n4,c",
                    late = "\n5,\"open", three = "\xFF\xFE";
  LineRules rules = Rows(',', true);
  rules.partition_bytes = 10;
  for (const std::size_t chunk : {1u, 3u, 1000u}) {
    const auto cut = [&](const std::string& text, std::vector<std::size_t> sections, std::uint64_t most) {
      return CutAll(
          text, rules, [chunk] { return chunk; }, {}, std::move(sections), most);
    };
    const Cut limited = cut(one + more + two + late, {0, one.size() + more.size()}, 1);
    const Cut wanted = cut(one + two, {0, one.size()}, kNoLimit);
    EXPECT_EQ(limited.error, "");
    EXPECT_EQ(limited.records, wanted.records) << chunk;
    EXPECT_EQ(limited.headers, wanted.headers);
    EXPECT_EQ(limited.documents, 2u);
    EXPECT_EQ(limited.partitions.size(), wanted.partitions.size());
    // One of which nothing is wanted may hold anything.
    EXPECT_EQ(cut(three, {0}, 0).error, "");
    EXPECT_EQ(cut(three, {0}, 0).records.size(), 0u);
  }
}

TEST(RowCutterTest, EveryPartitionCanBeStartedAt) {
  std::mt19937 random(4);
  std::string text = "a,b\n";
  for (int row = 0; row < 300; ++row) {
    text += std::to_string(row);
    for (std::size_t lines = random() % 3; lines > 0; --lines)
      text += ",\"x\n\"\"" + std::string(random() % 9, 'y') + '"';
    text += random() % 7 == 0 ? "\r\n\n" : "\n";
  }
  LineRules rules = Rows(',', true);
  rules.partition_bytes = 200;
  const Cut whole = CutAll(text, rules);
  ASSERT_GT(whole.partitions.size(), 10u);
  EXPECT_TRUE(whole.SameAs(CutAll(text, rules, 1)));
  for (const Cut::Partition& before : whole.partitions) {
    const Cut part =
        CutAll(text, rules, [] { return 5; }, {before.raw_end, before.document_end, before.partition + 1});
    ASSERT_TRUE(std::equal(part.records.rbegin(), part.records.rend(), whole.records.rbegin()));
    EXPECT_EQ(part.documents, 300u);
    EXPECT_TRUE(part.headers.empty());
  }
}

}  // namespace
}  // namespace pipeline
