#include "stages/verify/text_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/archive.h"
#include "tests/support/compress.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

std::vector<std::string> LinesIn(const std::string& bytes) {
  const StringFile file(bytes);
  Result<TextLines> lines = TextLines::Open(file, "a.txt");
  EXPECT_TRUE(lines.ok()) << lines.status().message();
  std::vector<std::string> all;
  for (;;) {
    const auto line = lines->Next();
    EXPECT_TRUE(line.ok()) << line.status().message();
    if (!line.ok() || !*line) return all;
    all.emplace_back(**line);
    EXPECT_EQ(lines->number(), all.size());
  }
}

TEST(TextLinesTest, ALineEndsAtItsLineFeedOrAtTheEndOfTheFile) {
  EXPECT_EQ(LinesIn(""), std::vector<std::string>());
  EXPECT_EQ(LinesIn("a\n\nb\r\n"), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(LinesIn("a\nend"), (std::vector<std::string>{"a", "end"}));
}

TEST(TextLinesTest, ALineMayBeLongerThanARead) {
  const std::string line(300 << 10, 'x');
  const std::string bytes = "a\n" + line + "\n" + line + "y";
  const std::vector<std::string> lines = {"a", line, line + "y"};
  EXPECT_EQ(LinesIn(bytes), lines);
  EXPECT_EQ(LinesIn(GzipCompress(bytes)), lines);
}

TEST(TextLinesTest, ALineWithoutEndIsNoText) {
  const StringFile file("a\n" + std::string((64 << 20) + 1, 'x'));
  Result<TextLines> lines = TextLines::Open(file, "a.txt");
  ASSERT_TRUE(lines.ok() && lines->Next().ok());
  const Status status = lines->Next().status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "line 2 is longer than 64.0 MiB: this is no text of lines");
}

TEST(TextLinesTest, LinesAreThoseThatASourceReads) {
  const std::vector<std::string> lines = {"猫が鳴く。", "", "犬も歩けば棒に当たる。"};
  const std::string utf8 = "猫が鳴く。\n\n犬も歩けば棒に当たる。\n";
  EXPECT_EQ(LinesIn("\xEF\xBB\xBF" + utf8), lines) << "a mark belongs to no line";
  EXPECT_EQ(LinesIn("猫が鳴く。\r\r犬も歩けば棒に当たる。"), lines) << "of an old Mac";
  const std::string shift_jis =
      "\x94\x4c\x82\xaa\x96\xc2\x82\xad\x81\x42\n\n\x8c\xa2\x82\xe0\x95\xe0\x82\xaf\x82\xce\x96\x5f\x82\xc9"
      "\x93\x96\x82\xbd\x82\xe9\x81\x42\n";
  EXPECT_EQ(LinesIn(shift_jis), lines);
  EXPECT_EQ(LinesIn(Bzip2Compress(shift_jis)), lines);
  EXPECT_EQ(LinesIn(XzCompress(utf8, 20)), lines);
  EXPECT_EQ(LinesIn(ZstdCompress(utf8)), lines);
  EXPECT_EQ(LinesIn(Lz4Compress(utf8)), lines);
}

TEST(TextLinesTest, TheMembersOfAnArchiveAreTextsOfTheirOwn) {
  const std::vector<std::string> lines = {"a", "b", "", "c", "猫", "", "d"};
  const std::string tar = Tar({{"1", "a\nb"},
                               {"2", "c\r\xe7\x8c\xab"},
                               {"3", ""},
                               {"4",
                                "\xEF\xBB\xBF"
                                "d\n"}});
  EXPECT_EQ(LinesIn(tar), lines)
      << "a line and a document end where their member ends; CR ends lines where a member has no LF";
  EXPECT_EQ(LinesIn(GzipCompress(tar)), lines);
}

TEST(TextLinesTest, TextIsKnownByItsDecodedBeginning) {
  const auto check = [](const std::string& bytes) { return CheckTextFile(StringFile(bytes), "a"); };
  EXPECT_TRUE(check("猫\n").ok());
  EXPECT_TRUE(check(GzipCompress("猫\n")).ok());
  EXPECT_TRUE(check("\xff\xfe" + std::string("a\0\n\0", 4)).ok()) << "UTF-16";
  EXPECT_TRUE(check("a\nb\n" + std::string("c\0\n", 3)).ok()) << "a run repairs such a line";
  EXPECT_TRUE(check("<!DOCTYPE html>\n<p>a</p>\n").ok()) << "it is shown as it is";
  EXPECT_EQ(check("").code(), Code::kNotFound);
  EXPECT_EQ(check(std::string("name\0 of a tar", 14)).code(), Code::kNotFound);
  EXPECT_EQ(check("%PDF-1.4\n").code(), Code::kInvalidArgument);
  EXPECT_EQ(check("\x1f\x8b\x08 and so on").code(), Code::kInvalidArgument);
}

TEST(TextLinesTest, LinesInFrontOfADamageAreGiven) {
  const StringFile file(GzipCompress("a\nb\n") + "garbage");
  EXPECT_TRUE(CheckTextFile(file, "a.gz").ok());
  Result<TextLines> lines = TextLines::Open(file, "a.gz");
  ASSERT_TRUE(lines.ok() && lines->Next().ok() && lines->Next().ok());
  EXPECT_EQ(lines->Next().status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace pipeline
