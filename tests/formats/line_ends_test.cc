// Lines that end with CR, and lines of white space alone: rules 2 of reading.
#include "formats/line_ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/digest.h"
#include "tests/support/cut_all.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

using Strings = std::vector<std::string>;

/// "document:record" of each record.
Strings NumberedLines(const Cut& cut) {
  Strings lines;
  for (const Cut::Record& record : cut.records)
    lines.push_back(std::to_string(record.document) + ":" + record.bytes);
  return lines;
}

LineRules ByCr() {
  LineRules rules;
  rules.cr_may_end_lines = true;
  return rules;
}

LineRules BySpace() {
  LineRules rules;
  rules.space_is_blank = true;
  return rules;
}

TEST(LineEndsTest, ATextWithCrAndNoLfIsReadByItsCrs) {
  const std::string text = "\xEF\xBB\xBFone\rtwo\r\rthree\r";
  for (const std::size_t chunk : {1, 3, 100}) {
    const Cut cut = CutAll(text, ByCr(), chunk);
    EXPECT_EQ(NumberedLines(cut), (Strings{"0:one", "0:two", "1:three"}));
    EXPECT_EQ(cut.partitions.at(0).counts,
              (CutCounts{.lines = 3, .line_bytes = 11, .blank_lines = 1, .cr = 3}));
    EXPECT_EQ(cut.records[0].key, Hash64("one\ntwo")) << "as with LF";
  }
  EXPECT_EQ(NumberedLines(CutAll(text)), Strings{"0:one\rtwo\r\rthree"}) << "rules 1";
}

TEST(LineEndsTest, CrInsideTheLinesOfATextWithLfStaysText) {
  const std::string text = "one\rtwo\r\nthree\r\rfour\n";
  EXPECT_EQ(NumberedLines(CutAll(text, ByCr(), 1)), (Strings{"0:one\rtwo", "0:three\r\rfour"}));
}

TEST(LineEndsTest, AnLfBehindTheDecidingBytesEndsALineToo) {
  std::string text(kLineEndBytes - 4, 'x');
  text += "\ra\rb\nc\r\nd\r";
  LineRules rules = ByCr();
  rules.documents = Documents::kLine;
  const Cut cut = CutAll(text, rules, 1 << 20);
  ASSERT_EQ(cut.records.size(), 5u);
  EXPECT_EQ(cut.records[2].bytes, "b");
  EXPECT_EQ(cut.records[3].bytes, "c");
  EXPECT_EQ(cut.partitions.at(0).counts.cr, 3u);
  EXPECT_EQ(cut.partitions.at(0).counts.lf, 1u);
  EXPECT_EQ(cut.partitions.at(0).counts.crlf, 1u);
  text[5] = '\n';
  EXPECT_EQ(CutAll(text, rules, 1 << 20).records.size(), 4u) << "two LF and the end of the text";
}

TEST(LineEndsTest, EachSectionHasLineEndsOfItsOwn) {
  const std::string text = "a\rb\rc\rd\ne\rf\r";
  const Cut cut = CutAll(text, ByCr(), [] { return 1; }, {}, {4, 8});
  EXPECT_EQ(NumberedLines(cut), (Strings{"0:a", "0:b", "1:c\rd", "2:e", "2:f"}));
}

TEST(LineEndsTest, QuotedFieldsHoldCrWhereRowsEndWithIt) {
  LineRules rules = ByCr();
  rules.documents = Documents::kLine;
  rules.quoted_delimiter = ',';
  rules.header = true;
  for (const std::size_t chunk : {1, 100}) {
    const Cut cut = CutAll("id,text\r1,\"a\rb\"\r2,c\r", rules, chunk);
    EXPECT_EQ(cut.headers, Strings{"id,text"});
    EXPECT_EQ(NumberedLines(cut), (Strings{"0:1,\"a\rb\"", "1:2,c"}));
    EXPECT_EQ(cut.records[0].key, Hash64("1,\"a\nb\""));
  }
}

TEST(LineEndsTest, TheSearchReadsNoMoreThanDecides) {
  const auto found = [](std::string text, std::size_t chunk) {
    const MemoryFile file(std::move(text), chunk);
    const auto reader = file.Open(0, {});
    return FindLineEnds(**reader, {}).value();
  };
  for (const std::size_t chunk : {1, 1000}) {
    EXPECT_EQ(found("a\rb", chunk), LineEnds::kCr);
    EXPECT_EQ(found("a\rb\n", chunk), LineEnds::kLf);
    EXPECT_EQ(found("ab", chunk), LineEnds::kLf);
    EXPECT_EQ(found("", chunk), LineEnds::kLf);
  }
  EXPECT_EQ(found("a\r" + std::string(kLineEndBytes, 'x') + "\n", 1 << 20), LineEnds::kCr);
}

TEST(LineEndsTest, LinesOfWhiteSpaceAloneAreBlank) {
  for (const std::string space :
       {" ", "\u3000", "\u3000 \t", "\t\t", "\u00a0", "\u1680", "\u2003\u2028", "\u202f\u205f", "\v\f"}) {
    const std::string text = "a\n" + space + "\nb\n" + space + "\r\n" + space + "\nc\n" + space;
    for (const std::size_t chunk : {1, 100}) {
      const Cut cut = CutAll(text, BySpace(), chunk);
      EXPECT_EQ(NumberedLines(cut), (Strings{"0:a", "1:b", "2:c"})) << space;
      EXPECT_EQ(cut.partitions.at(0).counts, (CutCounts{.lines = 3, .line_bytes = 3, .blank_lines = 4}));
      EXPECT_EQ(cut.records[0].key, Hash64("a"));
    }
    EXPECT_EQ(CutAll(text).documents, 1u) << "rules 1";
  }
  for (const std::string& text : {std::string("\0", 1), std::string("\u200b"), std::string("\ufeff"),
                                  std::string("\xE3@@"), std::string(" \xE3\x80")})
    EXPECT_EQ(CutAll("a\n" + text + "\nb", BySpace(), 1).documents, 1u) << "is no white space";
}

TEST(LineEndsTest, IndentedLinesAreText) {
  const Cut cut = CutAll("\u3000一\n  two\n\u3000\n\u3000三\n", BySpace(), 1);
  EXPECT_EQ(NumberedLines(cut), (Strings{"0:\u3000一", "0:  two", "1:\u3000三"}));
}

TEST(LineEndsTest, WhiteSpaceThatIsLongerThanARecordIsALongLine) {
  LineRules rules = BySpace();
  rules.max_record_bytes = 8;
  EXPECT_EQ(CutAll("a\n" + std::string(8, ' ') + "\nb\n", rules, 1).documents, 2u);
  const Cut cut = CutAll("a\n" + std::string(9, ' ') + "\nb\n", rules, 1);
  EXPECT_EQ(NumberedLines(cut), (Strings{"0:a", "0:        ", "0: ", "0:b"}));
}

TEST(LineEndsTest, BordersBehindWhiteSpaceShowThatADocumentEnded) {
  LineRules rules = BySpace();
  rules.max_record_bytes = 8;
  EXPECT_TRUE(EndsDocument("a\n \n", rules, LineEnds::kLf));
  EXPECT_TRUE(EndsDocument("a\r\n\u3000\t\r\n", rules, LineEnds::kLf));
  EXPECT_FALSE(EndsDocument("a\n", rules, LineEnds::kLf));
  EXPECT_FALSE(EndsDocument("\u3000\n", rules, LineEnds::kLf)) << "the line may begin with text";
  EXPECT_FALSE(EndsDocument("a\n" + std::string(9, ' ') + "\n", rules, LineEnds::kLf));
  EXPECT_TRUE(EndsDocument("a\r\r", rules, LineEnds::kCr));
  EXPECT_TRUE(EndsDocument("a\r \r", rules, LineEnds::kCr));
  EXPECT_FALSE(EndsDocument("a\r\n", rules, LineEnds::kCr));
  EXPECT_FALSE(EndsDocument("a\r\r", rules, LineEnds::kLf));
  EXPECT_FALSE(EndsDocument("a\n \n", LineRules(), LineEnds::kLf)) << "rules 1";
}

}  // namespace
}  // namespace pipeline
