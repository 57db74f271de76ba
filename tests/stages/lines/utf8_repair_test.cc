#include "stages/lines/utf8_repair.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipeline {
namespace {

using namespace std::string_literals;

Batch MakeBatch(const std::vector<std::string>& lines) {
  Batch batch;
  batch.Clear(1);
  batch.partition = {0, 3};
  for (const std::string& line : lines) {
    batch.heads.push_back({batch.heads.size() + 10, 0, 0, 0});
    batch.text.Append(line);
  }
  return batch;
}

Status Apply(InvalidUtf8 policy, Batch& batch, bool finds_iso2022 = true) {
  const Utf8Repair repair(policy, finds_iso2022);
  const auto worker = repair.NewWorker();
  return (*worker)->Apply(batch, 0, batch.counts[0]);
}

TEST(Utf8RepairTest, CleanBatchIsUntouched) {
  Batch batch = MakeBatch({"猫", "", "abc"});
  ASSERT_TRUE(Apply(InvalidUtf8::kReplace, batch).ok());
  EXPECT_EQ(batch.text.joined(), "猫abc");
  EXPECT_TRUE(batch.quarantine.empty());
  EXPECT_TRUE(batch.counts[0].reasons.empty());
}

TEST(Utf8RepairTest, DamagedRecordsAreRepairedCountedAndKept) {
  Batch batch = MakeBatch({"a\xFF\xFF", "猫", "\0\xC0"s, "b\0"s});
  ASSERT_TRUE(Apply(InvalidUtf8::kReplace, batch).ok());
  ASSERT_EQ(batch.text.size(), 4u);
  EXPECT_EQ(batch.text[0], "a\uFFFD\uFFFD");
  EXPECT_EQ(batch.text[1], "猫");
  EXPECT_EQ(batch.text[2], "\uFFFD\uFFFD");
  EXPECT_EQ(batch.text[3], "b\uFFFD");
  EXPECT_EQ(batch.counts[0].reasons, (decltype(StageCounts::reasons){{"invalid_utf8", 2}, {"nul", 1}}))
      << "one that has both counts once";
  EXPECT_EQ(batch.counts[0].sizes, (decltype(StageCounts::sizes){{"invalid_utf8", {4, 0}}, {"nul", {1, 0}}}))
      << "the bytes that became U+FFFD";
  ASSERT_EQ(batch.quarantine.size(), 3u);
  EXPECT_EQ(batch.quarantine[1].index, 12u);
  EXPECT_EQ(batch.quarantine[1].bytes, "\0\xC0"s);
  EXPECT_EQ(batch.quarantine[1].reason, "invalid_utf8");
  EXPECT_EQ(batch.quarantine[2].reason, "nul");
}

TEST(Utf8RepairTest, CharacterSplitOverTwoRecordsIsNoCharacter) {
  Batch batch = MakeBatch({"\xE7\x8C", "\xAB"});
  ASSERT_TRUE(Apply(InvalidUtf8::kReplace, batch).ok());
  EXPECT_EQ(batch.text[0], "\uFFFD");
  EXPECT_EQ(batch.text[1], "\uFFFD");
}

TEST(Utf8RepairTest, QuarantineTakesTheRecordOut) {
  Batch batch = MakeBatch({"a", "\xFF", "b\0"s, "c"});
  ASSERT_TRUE(Apply(InvalidUtf8::kQuarantine, batch).ok());
  ASSERT_EQ(batch.size(), 2u);
  ASSERT_EQ(batch.text.size(), 2u);
  EXPECT_EQ(batch.text[1], "c");
  EXPECT_EQ(batch.heads[1].index, 13u);
  EXPECT_EQ(batch.counts[0].reasons,
            (decltype(StageCounts::reasons){{"dropped_invalid_utf8", 1}, {"dropped_nul", 1}}));
  EXPECT_EQ(batch.quarantine.size(), 2u);
}

TEST(Utf8RepairTest, LinesInIso2022AreCountedAndStay) {
  const std::vector<std::string> lines = {"a", "\x1B$BG-\x1B(B", "\x1B[1mbold\x1B[0m", "\xFF\x1B$BG-\x1B(B"};
  Batch batch = MakeBatch(lines);
  ASSERT_TRUE(Apply(InvalidUtf8::kReplace, batch).ok());
  EXPECT_EQ(batch.text[1], lines[1]);
  EXPECT_EQ(batch.text[2], lines[2]) << "colours of a terminal are text";
  EXPECT_EQ(batch.counts[0].reasons, (decltype(StageCounts::reasons){{"invalid_utf8", 1}, {"iso_2022", 1}}));
  EXPECT_EQ(batch.counts[0].sizes.at("iso_2022"), (ReasonSize{lines[1].size(), 0}));
  EXPECT_EQ(batch.quarantine.at(0).reason, "iso_2022");

  batch = MakeBatch({lines[0], lines[1]});
  ASSERT_TRUE(Apply(InvalidUtf8::kQuarantine, batch).ok());
  EXPECT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch.counts[0].reasons.at("dropped_iso_2022"), 1u);

  batch = MakeBatch({lines[0], lines[1]});
  EXPECT_EQ(Apply(InvalidUtf8::kFail, batch).message(),
            "characters of ISO-2022-JP in a text that is not; repair the text, or set invalid_utf8: replace");
  EXPECT_EQ(batch.failed_index, 11u);

  batch = MakeBatch(lines);
  ASSERT_TRUE(Apply(InvalidUtf8::kReplace, batch, false).ok());
  EXPECT_FALSE(batch.counts[0].reasons.contains("iso_2022")) << "by the rules 1";
}

TEST(Utf8RepairTest, FailureNamesTheFirstDamagedRecord) {
  Batch batch = MakeBatch({"a", "b\xFF", "\0"s});
  const Status status = Apply(InvalidUtf8::kFail, batch);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(batch.failed_index, 11u);
  EXPECT_EQ(status.message(), "invalid UTF-8 at byte 1; repair the text, or set invalid_utf8: replace");
}

}  // namespace
}  // namespace pipeline
