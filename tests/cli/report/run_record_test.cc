#include "cli/report/run_record.h"

#include <gtest/gtest.h>

#include <string>

namespace pipeline {
namespace {

// The worked example of cli/report/run_record.md.
constexpr std::string_view kExample =
    "{\"cores\":2,\"event\":\"run\",\"id\":\"1769860800000-4711\",\"pipeline\":\"tiny\",\"record\":1,"
    "\"started\":1769860800000,\"threads\":2}\n"
    "{\"event\":\"stage\",\"inputs\":[\"source\"],\"name\":\"lines\",\"state\":\"run\",\"type\":"
    "\"decompress\"}\n"
    "{\"begin\":0.001,\"end\":0.25,\"event\":\"unit\",\"read\":96,\"records\":2,\"text\":9,\"unit\":\"lines/"
    "0000-*\"}\n"
    "{\"at\":0.3,\"event\":\"end\",\"outcome\":\"done\"}\n";
constexpr std::string_view kLastLine =
    "\x7b\x22\x61\x74\x22\x3a\x30\x2e\x33\x2c\x22\x65\x76\x65\x6e\x74\x22\x3a\x22\x65\x6e\x64\x22\x2c\x22\x6f"
    "\x75\x74\x63\x6f\x6d\x65\x22\x3a\x22\x64\x6f\x6e\x65\x22\x7d\x0a";

RunRecord Parsed(std::string_view lines) {
  Result<RunRecord> record = ParseRunRecord(lines);
  EXPECT_TRUE(record.ok()) << record.status().message();
  return record.ok() ? std::move(record).value() : RunRecord();
}

const std::string kBegin = EncodeEvent(RecordedBegin{});

TEST(RunRecordTest, ExampleOfTheDocument) {
  const RunRecord record = Parsed(kExample);
  EXPECT_TRUE(kExample.ends_with(kLastLine));
  EXPECT_EQ(EncodeEvent(record.begin) + EncodeEvent(record.stages.at(0)) + EncodeEvent(record.units.at(0)) +
                EncodeEvent(*record.end),
            kExample);
  EXPECT_EQ(record.begin.pipeline, "tiny");
  EXPECT_EQ(record.stages.at(0).inputs, std::vector<std::string>{"source"});
  EXPECT_EQ(record.units.at(0).end, 0.25);
  EXPECT_EQ(record.end->outcome, "done");
}

TEST(RunRecordTest, EveryEventComesBack) {
  RecordedMoment moment{0.5, 1, 2, 3, 0.25, 5, 6, 7};
  RecordedCounts counts;
  counts.counts = {1, 2, 3, 4, {{"dropped_empty", 5}}};
  counts.partitions = 6, counts.shards = 7, counts.shard_bytes = 8;
  counts.splits["train"] = {9, 10, 11};
  StageText text;
  text.profile.Add("漢字 kana かな", 64);
  text.changed = 64, text.dropped = 128;
  text.pairs = {{0, {"漢字", {3, 6}, true, true}, Sample{"x", {}, false, false}},
                {0, {"gone", {}, false, false}, {}}};
  const std::string lines =
      kBegin + EncodeEvent(moment) + EncodeEvent("a stage", counts) + EncodeEvent("a stage", text) +
      EncodeEvent(RecordedLogging{"a/0000-00000", 0.5, 3, 4}) + EncodeEvent(RecordedNote{0.25, "said"}) +
      EncodeEvent(RecordedExample{"a", "why", "what", true}) +
      EncodeEvent(RecordedEnd{1.5, "failed", 99, {{"a/-", "why"}}});
  const RunRecord record = Parsed(lines);
  ASSERT_EQ(record.moments.size(), 1u);
  EXPECT_EQ(EncodeEvent(record.begin) + EncodeEvent(record.moments[0]) +
                EncodeEvent("a stage", record.counts.at("a stage")) +
                EncodeEvent("a stage", record.texts.at("a stage")) + EncodeEvent(record.logged.at(0)) +
                EncodeEvent(record.notes.at(0)) + EncodeEvent(record.examples.at(0)) +
                EncodeEvent(*record.end),
            lines);
}

TEST(RunRecordTest, TornLastLineAndUnknownEventsArePassedOver) {
  const RunRecord record = Parsed(kBegin + "{\"event\":\"later\",\"at\":1}\nnot json\n{\"at\":2}\n" +
                                  EncodeEvent(RecordedNote{0.25, "said"}) + "{\"event\":\"end\",\"at\":0.3");
  EXPECT_EQ(record.notes.size(), 1u);
  EXPECT_FALSE(record.end);
}

TEST(RunRecordTest, WhatIsNoRecordIsRefused) {
  EXPECT_EQ(ParseRunRecord("").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseRunRecord("# pipe run log v1\n").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseRunRecord("{\"event\":\"run\",\"record\":2}\n").status().code(), Code::kFailedPrecondition);
}

TEST(RunRecordTest, NumbersThatCannotBeAreHarmless) {
  const RunRecord record =
      Parsed(kBegin +
             "{\"event\":\"unit\",\"unit\":\"a/-\",\"begin\":-5,\"end\":-9,\"records\":-1}\n"
             "{\"event\":\"pair\",\"stage\":\"a\",\"before\":{\"text\":\"ab\",\"marks\":[9,2,-1,1]}}\n"
             "{\"event\":\"sample\",\"at\":5}\n{\"event\":\"sample\",\"at\":3}\n");
  EXPECT_EQ(record.units.at(0).begin, 0);
  EXPECT_EQ(record.units.at(0).end, 0);
  EXPECT_EQ(record.units.at(0).records, 0u);
  EXPECT_EQ(record.texts.at("a").pairs.at(0).before.marks, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(record.moments.size(), 1u) << "time does not go back";
}

}  // namespace
}  // namespace pipeline
