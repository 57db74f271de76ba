#include "dag/books/location_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/memory_store.h"
#include "tests/support/fake_clock.h"

namespace pipeline {
namespace {

UnitLine Shard(const std::string& unit) {
  UnitLine line;
  line.unit = unit;
  line.segment = 9;
  line.recipe = DigestOf("recipe of " + unit);
  line.records = 3;
  line.location = "gs://b/out";
  return line;
}

std::vector<std::string> Objects(Store& out) {
  std::vector<std::string> names;
  for (const ObjectInfo& object : out.List(kLocationLogPrefix).value()) names.push_back(object.name);
  return names;
}

std::vector<std::string> Units(Store& out) {
  std::vector<std::string> units;
  const auto lines = ReadLocationLog(out, out.List("").value());
  EXPECT_TRUE(lines.ok());
  for (const UnitLine& line : *lines) units.push_back(line.unit);
  return units;
}

TEST(LocationLogTest, ASegmentIsWrittenWhenItsFirstLineHasWaited) {
  MemoryStore out;
  FakeClock clock;
  LocationLog log(out, "[]", clock);
  ASSERT_TRUE(log.Add(Shard("text/train.s00000-of-00003"), {}).ok());
  clock.Advance(std::chrono::seconds(4));
  ASSERT_TRUE(log.Add(Shard("text/train.s00001-of-00003"), {}).ok());
  EXPECT_EQ(Objects(out).size(), 0u);
  clock.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(log.Add(Shard("text/train.s00002-of-00003"), {}).ok());
  EXPECT_EQ(Objects(out).size(), 1u);
  EXPECT_EQ(Units(out).size(), 3u);
}

TEST(LocationLogTest, SegmentsAreCreatedAndNeverChanged) {
  MemoryStore out;
  LocationLog log(out, "[]"), other(out, "[]");
  for (const std::string unit : {"text/train.s00000-of-00002", "text/train.s00001-of-00002"}) {
    ASSERT_TRUE(log.Add(Shard(unit), {}).ok());
    ASSERT_TRUE(log.Flush({}).ok());
    ASSERT_TRUE(log.Flush({}).ok()) << "nothing waits";
    ASSERT_TRUE(other.Add(Shard(unit), {}).ok());
    ASSERT_TRUE(other.Flush({}).ok());
  }
  const std::vector<std::string> names = Objects(out);
  ASSERT_EQ(names.size(), 4u) << "two runs, two segments each";
  EXPECT_TRUE(names[0].ends_with("-00000.log") && names[1].ends_with("-00001.log")) << names[0];
}

TEST(LocationLogTest, ASegmentIsARunLog) {
  MemoryStore out;
  LocationLog log(out, R"([{"stage":"text"}])");
  ASSERT_TRUE(log.Add(Shard("text/train.s00000-of-00001"), {}).ok());
  ASSERT_TRUE(log.Flush({}).ok());
  const std::string text = ReadObject(out, Objects(out).at(0), 1 << 20).value();
  EXPECT_TRUE(text.starts_with("# pipe run log v1\nsegment\tnumber=1\tlineage=[{\"stage\":\"text\"}]\t"))
      << text;
  const auto lines = ReadLocationLog(out, out.List("").value());
  ASSERT_TRUE(lines.ok());
  ASSERT_EQ(lines->size(), 1u);
  EXPECT_EQ(lines->front().recipe, DigestOf("recipe of text/train.s00000-of-00001"));
  EXPECT_EQ(lines->front().segment, 1u);
  EXPECT_EQ(lines->front().records, 3u);
}

TEST(LocationLogTest, ALineThatIsDamagedIsPassedOver) {
  MemoryStore out;
  LocationLog log(out, "[]");
  for (const std::string unit :
       {"text/train.s00000-of-00003", "text/train.s00001-of-00003", "text/train.s00002-of-00003"})
    ASSERT_TRUE(log.Add(Shard(unit), {}).ok());
  ASSERT_TRUE(log.Flush({}).ok());
  const std::string name = Objects(out).at(0);
  std::string text = ReadObject(out, name, 1 << 20).value();
  text[text.find("s00001")] = 'x';
  ASSERT_TRUE(WriteObject(out, name, text, Condition::ReplaceAny()).ok());
  EXPECT_EQ(Units(out),
            (std::vector<std::string>{"text/train.s00000-of-00003", "text/train.s00002-of-00003"}));
}

TEST(LocationLogTest, WhatCannotBeWrittenIsKeptForTheNextTurn) {
  MemoryStore out;
  LocationLog log(out, "[]");
  ASSERT_TRUE(log.Add(Shard("text/train.s00000-of-00002"), {}).ok());
  ASSERT_TRUE(log.Flush({}).ok());
  ASSERT_TRUE(log.Add(Shard("text/train.s00001-of-00002"), {}).ok());
  // Somebody has the name of the next segment.
  std::string taken = Objects(out).at(0);
  taken.replace(taken.find("-00000"), 6, "-00001");
  ASSERT_TRUE(WriteObject(out, taken, "theirs", Condition::CreateOnly()).ok());
  EXPECT_FALSE(log.Flush({}).ok());
  ASSERT_TRUE(log.Flush({}).ok());
  EXPECT_EQ(Units(out).size(), 2u);
}

}  // namespace
}  // namespace pipeline
