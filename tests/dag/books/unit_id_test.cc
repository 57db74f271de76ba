#include "dag/books/unit_id.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

TEST(UnitIdTest, EveryKindIsWrittenAndRead) {
  const std::pair<UnitId, const char*> units[] = {
      {{"text", PartitionId{0, 12}}, "text/0000-00012"},
      {{"text", StreamId{3}}, "text/0003-*"},
      {{"tokenizer", JobId{}}, "tokenizer/-"},
      {{"text", ShardId{"train", 3, 10}}, "text/train.s00003-of-00010"},
      {{"text", ShardId{"a.s00001-of-00002", 3, 10}}, "text/a.s00001-of-00002.s00003-of-00010"},
  };
  for (const auto& [unit, text] : units) {
    EXPECT_EQ(ToString(unit), text);
    ASSERT_TRUE(ParseUnitId(text).has_value()) << text;
    EXPECT_EQ(*ParseUnitId(text), unit) << text;
  }
}

TEST(UnitIdTest, LargeNumbersAreWrittenWhole) {
  const UnitId unit{"a", PartitionId{12345, 4294967295u}};
  EXPECT_EQ(ToString(unit), "a/12345-4294967295");
  EXPECT_EQ(ParseUnitId("a/12345-4294967295"), unit);
}

TEST(UnitIdTest, AnythingElseIsNoUnit) {
  for (const char* text : {"",
                           "/",
                           "a",
                           "a/",
                           "/-",
                           "a/x",
                           "a/-*",
                           "a/0-0",
                           "a/0000-0",
                           "a/000-00000",
                           "a/00000-00000",
                           "a/0000-4294967296",
                           "a/0000-00000 ",
                           "a/0000--0001",
                           "a/0000-x*",
                           "a/*",
                           "a/0000*",
                           "a/train.s0003-of-00010",
                           "a/train.s00003",
                           "a/train-of-00003",
                           "a/.s-of-"})
    EXPECT_FALSE(ParseUnitId(text).has_value()) << text;
}

TEST(UnitIdTest, PartitionNamesAreExact) {
  EXPECT_EQ(PartitionName({7, 8}), "0007-00008");
  EXPECT_EQ(ParsePartitionName("0007-00008"), (PartitionId{7, 8}));
  EXPECT_FALSE(ParsePartitionName("7-8").has_value());
}

TEST(UnitIdTest, AReasonIsToldOnceWithAllItsUnits) {
  struct Failure {
    std::string unit;
    Status why;
  };
  const auto failed = [](const char* why) { return Status(Code::kFailedPrecondition, why); };
  const std::vector<Failure> failures = {
      {"a/-", failed("too few rows")}, {"b/-", failed("no space")}, {"c/-", failed("too few rows")}};
  EXPECT_EQ(FailureLines(failures),
            (std::vector<std::string>{"too few rows (unit a/-, c/-)", "no space (unit b/-)"}));
}

}  // namespace
}  // namespace pipeline
