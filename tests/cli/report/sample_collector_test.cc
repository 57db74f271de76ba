#include "cli/report/sample_collector.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/str.h"

namespace pipeline {
namespace {

const std::vector<std::string> kStages = {"lines", "clean", "write"};

/// `change` gives a record's text after the second stage; empty: dropped.
using Change = std::function<std::string(std::uint64_t index, const std::string& text)>;

Batch BatchOf(PartitionId partition, std::uint64_t begin, std::uint64_t end, const Change& text) {
  Batch batch;
  batch.partition = partition;
  for (std::uint64_t index = begin; index < end; ++index) {
    const std::string value = text(index, StrCat("record ", index));
    if (value.empty()) continue;
    batch.heads.push_back({index, 0, index, 0});
    batch.text.Append(value);
  }
  return batch;
}

/// Passes `records` records through in batches of `per_batch`.
std::map<std::string, StageText> Collect(std::uint64_t records, std::uint64_t per_batch, const Change& change,
                                         PartitionId partition = {}) {
  SampleCollector collector;
  const auto same = [](std::uint64_t, const std::string& text) { return text; };
  for (std::uint64_t begin = 0; begin < records; begin += per_batch) {
    const std::uint64_t end = std::min(begin + per_batch, records);
    const Batch before = BatchOf(partition, begin, end, same);
    const std::unique_ptr<BatchProbe> probe = collector.Watch(before, kStages);
    if (!probe) continue;
    probe->Left(0, before);
    const Batch after = BatchOf(partition, begin, end, change);
    probe->Left(1, after);
    probe->Left(2, after);
  }
  return collector.Take();
}

std::string Shown(const std::map<std::string, StageText>& texts) {
  std::string shown;
  for (const auto& [stage, text] : texts) {
    shown += StrCat(stage, ":", text.profile.sampled, "/", text.profile.records, " ", text.changed, " ",
                    text.dropped);
    for (const SamplePair& pair : text.pairs)
      shown += StrCat(" ", pair.before.text, ">", pair.after ? pair.after->text : "-");
    shown += "\n";
  }
  return shown;
}

std::string ShoutAndDrop(std::uint64_t index, const std::string& text) {
  return index % 3 == 0 ? std::string() : index % 3 == 1 ? text + "!" : text;
}

TEST(SampleCollectorTest, SameForAnyBatchSize) {
  const std::string wanted = Shown(Collect(100'000, 100'000, ShoutAndDrop));
  for (const std::uint64_t per_batch : {1u, 7u, 64u, 1000u})
    EXPECT_EQ(Shown(Collect(100'000, per_batch, ShoutAndDrop)), wanted);
}

TEST(SampleCollectorTest, SamplesStandForAllRecords) {
  const auto texts = Collect(262'144, 4096, ShoutAndDrop);
  const StageText& lines = texts.at("lines");
  EXPECT_EQ(lines.profile.records, 262'144u);
  EXPECT_EQ(lines.profile.sampled, 65'536u / 64 + (262'144u - 65'536u) / 2048);
  const StageText& clean = texts.at("clean");
  EXPECT_EQ(clean.profile.records + clean.dropped, 262'144u);
  EXPECT_NEAR(static_cast<double>(clean.dropped), 262'144 / 3.0, 262'144 * 0.1);
  EXPECT_NEAR(static_cast<double>(clean.changed), 262'144 / 3.0, 262'144 * 0.1);
}

TEST(SampleCollectorTest, OtherPartitionsAreLookedAtMoreRarely) {
  EXPECT_EQ(Collect(65'536, 4096, ShoutAndDrop, {0, 1}).at("lines").profile.sampled, 32u);
  EXPECT_EQ(Collect(65'536, 4096, ShoutAndDrop, {1, 0}).at("lines").profile.sampled, 32u);
}

TEST(SampleCollectorTest, KeepsEightPairsOfWhatChangesText) {
  const auto texts = Collect(100'000, 1000, ShoutAndDrop);
  EXPECT_TRUE(texts.at("lines").pairs.empty());
  EXPECT_EQ(texts.at("clean").pairs.size(), 8u);
  EXPECT_TRUE(texts.at("write").pairs.empty());
}

TEST(SampleCollectorTest, PairsThatReadTheSameAreShownOnce) {
  SampleCollector collector;
  const Batch before = BatchOf({}, 0, 4096, [](std::uint64_t, const std::string&) { return "read more"; });
  const Batch after = BatchOf({}, 0, 4096, [](std::uint64_t, const std::string&) { return "Read more"; });
  const auto probe = collector.Watch(before, kStages);
  ASSERT_TRUE(probe);
  probe->Left(0, before);
  probe->Left(1, after);
  const auto texts = collector.Take();
  EXPECT_EQ(texts.at("clean").changed, 4096u);
  EXPECT_EQ(texts.at("clean").pairs.size(), 1u);
}

TEST(SampleCollectorTest, LongRecordsAreCutAroundTheFirstDifference) {
  std::string front;
  while (front.size() < 3000) front += "漢";
  const auto texts =
      Collect(64, 64, [&](std::uint64_t, const std::string& text) { return text + front + "終"; });
  const SamplePair& pair = texts.at("clean").pairs.at(0);
  EXPECT_FALSE(pair.before.front);
  EXPECT_TRUE(pair.after->back);
  EXPECT_LE(pair.after->text.size(), 480u);
  SampleCollector collector;
  const Batch before = BatchOf({}, 0, 64, [&](std::uint64_t, const std::string&) { return front + "前"; });
  const Batch after = BatchOf({}, 0, 64, [&](std::uint64_t, const std::string&) { return front + "後"; });
  const auto probe = collector.Watch(before, kStages);
  ASSERT_TRUE(probe);
  probe->Left(0, before);
  probe->Left(1, after);
  const auto late = collector.Take();
  const SamplePair& cut = late.at("clean").pairs.at(0);
  EXPECT_TRUE(cut.before.front);
  EXPECT_FALSE(cut.before.back);
  EXPECT_TRUE(cut.before.text.ends_with("漢前"));
  EXPECT_TRUE(cut.after->text.ends_with("漢後"));
}

TEST(SampleCollectorTest, MarksOfMorphemesAreKept) {
  SampleCollector collector;
  Batch batch = BatchOf({}, 0, 64, [](std::uint64_t, const std::string&) { return "すもも"; });
  const auto probe = collector.Watch(batch, kStages);
  ASSERT_TRUE(probe);
  probe->Left(0, batch);
  for (std::size_t row = 0; row < batch.size(); ++row) {
    for (const std::uint32_t end : {3u, 9u}) batch.cuts.open_row().push_back(end);
    batch.cuts.CloseRow();
  }
  probe->Left(1, batch);
  const auto texts = collector.Take();
  EXPECT_EQ(texts.at("clean").pairs.at(0).after->marks, (std::vector<std::uint32_t>{3, 9}));
}

TEST(TextProfileTest, LengthClassesDoubleInTwoSteps) {
  for (const std::uint64_t length : {0u, 1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 1024u, 1536u}) {
    EXPECT_EQ(LengthFloor(LengthClass(length)), length);
    if (length > 0) {
      EXPECT_EQ(LengthClass(length - 1) + 1, LengthClass(length));
    }
  }
}

TEST(TextProfileTest, CharactersAreCountedByClass) {
  TextProfile profile;
  profile.Add("ひカ漢한Aé7　、😀ｶＡ９", 1);
  EXPECT_EQ(profile.characters, (std::array<std::uint64_t, 9>{1, 2, 1, 1, 3, 2, 1, 2, 0}));
}

TEST(TextProfileTest, BrokenBytesAreNoTrap) {
  TextProfile profile;
  profile.Add("\xE3\x81\xFF\x80\xF0", 1);
  EXPECT_EQ(profile.characters[8], 5u);
}

}  // namespace
}  // namespace pipeline
