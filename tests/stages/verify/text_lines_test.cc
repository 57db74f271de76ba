#include "stages/verify/text_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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
  EXPECT_EQ(LinesIn("a\n\nb\r\n"), (std::vector<std::string>{"a", "", "b\r"}));
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

TEST(TextLinesTest, TextIsKnownByItsDecodedBeginning) {
  const auto is_text = [](const std::string& bytes) { return IsTextFile(StringFile(bytes), bytes, "a"); };
  EXPECT_TRUE(is_text("猫\n"));
  EXPECT_TRUE(is_text(GzipCompress("猫\n")));
  EXPECT_FALSE(is_text(""));
  EXPECT_FALSE(is_text(std::string("a\0b", 3)));
  EXPECT_FALSE(is_text(GzipCompress("\xff\xff\xff\xff\xff")));
}

}  // namespace
}  // namespace pipeline
