#include "stages/sources/line_number.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "base/str.h"
#include "formats/line_cutter.h"
#include "tests/stages/sources.h"
#include "tests/support/archive.h"
#include "tests/support/compress.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

std::optional<std::uint64_t> LineOf(const std::string& bytes, std::uint32_t partition, std::uint64_t index,
                                    LineRules rules = {}, const InputRules& input = {}) {
  const InputFile file{"a.txt", std::make_shared<MemoryFile>(bytes)};
  return LineOfRecord(file, rules, input, partition, index, {});
}

TEST(LineNumberTest, BlankLinesAndMarksCountAsAnEditorCountsThem) {
  const std::string text = "\xEF\xBB\xBF\n\na\r\nb\n\n\nc";
  EXPECT_EQ(LineOf(text, 0, 0), 3u);
  EXPECT_EQ(LineOf(text, 0, 1), 4u);
  EXPECT_EQ(LineOf(text, 0, 2), 7u);
  EXPECT_EQ(LineOf(text, 0, 3), std::nullopt) << "there is no such record";
  EXPECT_EQ(LineOf("", 0, 0), std::nullopt);
}

TEST(LineNumberTest, PartitionsPiecesAndBuffersDoNotMatter) {
  std::string text;
  for (int line = 0; line < 90'000; ++line) text += StrCat("line ", line, line % 7 == 0 ? "\n\n" : "\n");
  LineRules rules;
  rules.partition_bytes = 50'000;
  LineCutter cutter(rules);
  cutter.Feed(text);
  std::uint64_t records = 0, found = 0;
  for (Result<LineCutter::Event> event = cutter.Next(); *event != LineCutter::Event::kInputEnd;
       event = cutter.Next()) {
    if (*event == LineCutter::Event::kNeedInput) cutter.FinishInput();
    if (*event != LineCutter::Event::kRecord || records++ % 9000 != 0) continue;
    const CutRecord& record = cutter.record();
    const std::uint64_t line = (records - 1) + (records - 1 + 6) / 7 + 1;
    EXPECT_EQ(LineOf(text, record.partition, record.index, rules), line) << record.bytes;
    EXPECT_EQ(LineAt({"a.txt", std::make_shared<MemoryFile>(text)}, rules, {}, record.begin, {}), line);
    ++found;
  }
  EXPECT_EQ(found, 10u);
}

TEST(LineNumberTest, ARowBeginsAtItsFirstLine) {
  LineRules rules;
  rules.documents = Documents::kLine;
  rules.quoted_delimiter = ',';
  rules.header = true;
  EXPECT_EQ(LineOf("id,text\n1,\"a\nb\nc\"\n\n2,d\n", 0, 1, rules), 6u);
}

TEST(LineNumberTest, LinesMayEndWithCr) {
  LineRules rules;
  rules.cr_may_end_lines = true;
  EXPECT_EQ(LineOf("a\rb\r\rc\rd\re", 0, 3, rules), 5u);
}

TEST(LineNumberTest, CompressedAndInAnotherEncoding) {
  EXPECT_EQ(LineOf(GzipCompress("a\n\nb\n"), 0, 1), 3u);
  std::string wide("\xFF\xFE", 2);
  for (const char byte : std::string("a\n\nb\n")) wide += std::string{byte, '\0'};
  EXPECT_EQ(LineOf(wide, 0, 1), 3u);
}

TEST(LineNumberTest, AnArchiveHasNoLinesOfItsOwn) {
  EXPECT_EQ(LineOf(Tar({{"a.txt", "a\nb\n"}}), 0, 1), std::nullopt);
}

TEST(LineNumberTest, ADamagedFileHasNone) {
  const std::string whole = GzipCompress(std::string(100'000, 'a') + "\nb\n");
  EXPECT_EQ(LineOf(whole.substr(0, whole.size() / 2), 0, 1), std::nullopt);
}

}  // namespace
}  // namespace pipeline
