#include "dag/pipeline_file/expectation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

/// A stage that drops, changes, passes over and counts other things.
StageType Reader() {
  StageType type;
  type.name = "reader";
  type.gives = Flow::kRecords;
  type.kind = SourceKind{};
  type.reasons = {Drop("dropped_json", "It is no JSON."),
                  Drop("dropped_empty", "It is empty."),
                  {"crlf", "It ended in CR LF.", Reason::Of::kLookedAt},
                  {"long_dropped", "It was too long.", Reason::Of::kLookedAt, Reason::Fate::kDropped},
                  {"cut", "It was cut.", Reason::Of::kDocuments},
                  {"outside", "It is not wanted.", Reason::Of::kRecords, Reason::Fate::kNotMeant},
                  Tally("split_*", "Files.")};
  return type;
}

struct Read {
  std::vector<Expectation> expected;
  Lines mistakes;
};

Read ReadOf(const StageType& type, std::string_view text) {
  const ParsedYaml yaml = ParseYaml(text);
  EXPECT_TRUE(yaml.root);
  std::vector<Mistake> mistakes;
  Read read;
  read.expected = ReadExpectations(*yaml.root, type, "stage 's'", mistakes);
  for (const Mistake& mistake : mistakes) read.mistakes.push_back(ToString(mistake, "p"));
  return read;
}

TEST(ExpectationTest, ReasonsAndDropsHaveBounds) {
  const Read read =
      ReadOf(Reader(), "{ reasons: {dropped_json: [0, 0.001], cut: [0, 1]}, dropped: [0, 0.05] }");
  EXPECT_EQ(read.mistakes, Lines());
  ASSERT_EQ(read.expected.size(), 3u);
  EXPECT_EQ(read.expected[0].metric, "dropped_json");
  EXPECT_TRUE(read.expected[0].is_reason);
  EXPECT_EQ(read.expected[0].high, 0.001);
  EXPECT_EQ(read.expected[2].metric, "dropped");
  EXPECT_FALSE(read.expected[2].is_reason);
}

TEST(ExpectationTest, AReasonThatIsNeverCountedIsAMistake) {
  EXPECT_EQ(ReadOf(Reader(), "reasons: { dropped_jsn: [0, 1] }").mistakes,
            (Lines{"p:1:12: stage 's': 'expect': 'reasons': a stage of type reader never counts "
                   "'dropped_jsn'; did you "
                   "mean 'dropped_json'?"}));
  EXPECT_EQ(
      ReadOf(Reader(), "reasons: 3").mistakes,
      (Lines{"p:1:10: stage 's': 'expect': 'reasons' must be a map of reasons to [low, high], and this is "
             "\"3\""}));
  EXPECT_EQ(
      ReadOf(Reader(), "dropped_json: [0, 1]").mistakes,
      (Lines{"p:1:1: stage 's': 'expect': 'dropped_json' is a reason; write `reasons: {dropped_json: [low, "
             "high]}`"}));
  EXPECT_EQ(
      ReadOf(Reader(), "reasons: { split_train: [0, 1] }").mistakes,
      (Lines{
          "p:1:12: stage 's': 'expect': 'reasons': 'split_train' counts neither records nor documents that "
          "came in, and has no share of them"}));
  EXPECT_EQ(ReadOf(Reader(), "reasons: { dropped_json: [2, 3] }").mistakes,
            (Lines{"p:1:26: stage 's': 'expect': 'reasons': 'dropped_json' is a share, from 0 to 1"}));
}

TEST(ExpectationTest, WhatDropsNothingHasNoShareOfDrops) {
  StageType type = Reader();
  type.reasons = {Tally("ids", "Ids.")};
  EXPECT_EQ(
      ReadOf(type, "dropped: [0, 1]").mistakes,
      (Lines{"p:1:1: stage 's': 'expect': a stage of type reader counts no record as dropped; `kept_ratio` "
             "says how many it gave"}));
}

TEST(ExpectationTest, WhatCountsNothingHasNoExpectations) {
  StageType job = Reader();
  job.kind = JobKind{};
  StageType files = Reader();
  files.kind = FileListKind{};
  for (const StageType& type : {job, files}) {
    const Read read = ReadOf(type, "records: [1, 2]");
    ASSERT_EQ(read.mistakes.size(), 1u);
    EXPECT_NE(read.mistakes[0].find("a stage of type reader counts no records"), std::string::npos);
  }
}

TEST(ReasonTest, SharesAreOfTheRecordsThatAreWanted) {
  const std::vector<Reason> reasons = Reader().reasons;
  StageCounts counts;
  counts.records_in = 1000;
  EXPECT_EQ(RecordsTaken(reasons, counts), 1000u);
  counts.reasons = {
      {"outside", 900}, {"dropped_json", 5}, {"dropped_empty", 1}, {"crlf", 500}, {"long_dropped", 20}};
  EXPECT_EQ(RecordsTaken(reasons, counts), 100u);
  EXPECT_EQ(RecordsCounted(reasons, counts, *FindReason(reasons, "dropped_json")), 5);
  EXPECT_EQ(RecordsCounted(reasons, counts, *FindReason(reasons, "crlf")), 50);  // of 1000, 900 not wanted
  EXPECT_EQ(RecordsDropped(reasons, counts), 5 + 1 + 2);
}

TEST(ReasonTest, ANameThatIsNotDeclaredIsFound) {
  StageCounts counts;
  counts.reasons = {{"crlf", 1}, {"split_train", 1}};
  EXPECT_EQ(UndeclaredReason(Reader().reasons, counts), "");
  counts.Add("zeal");
  EXPECT_EQ(UndeclaredReason(Reader().reasons, counts), "zeal");
}

}  // namespace
}  // namespace pipeline
