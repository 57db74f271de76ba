#include <gtest/gtest.h>

#include <map>

#include "dag/forecast/forecast.h"

namespace pipeline {
namespace {

/// A work directory and artifacts at locations, of which those below /big are on another disk.
class DiskNeedTest : public testing::Test {
 protected:
  SegmentId Add(std::uint64_t intermediate, std::uint64_t published, const std::string& location = {}) {
    PlannedSegment segment(NodeId(plan_.segments.size()));
    segment.publishes = published > 0;
    segment.location = location;
    SegmentForecast forecast;
    forecast.intermediate_bytes = intermediate;
    forecast.published_bytes = published;
    forecast_.segments.push_back(forecast);
    return plan_.segments.push_back(std::move(segment));
  }
  std::vector<DiskNeed> Needs() {
    places_.work = "/home/me/.pipe/it";
    places_.same = [](const std::string& one, const std::string& other) {
      return one.starts_with("/big") == other.starts_with("/big");
    };
    places_.held = [this](const std::string& path) { return held_[path]; };
    return DiskNeedsOf(plan_, forecast_, places_);
  }

  Plan plan_;
  Forecast forecast_;
  DiskPlaces places_;
  std::map<std::string, std::uint64_t> held_;
};

TEST_F(DiskNeedTest, DirectoriesOfOneFileSystemNeedTheSum) {
  Add(100, 60, "/home/me/out/text");
  Add(0, 40, "/home/me/out/packed");
  const std::vector<DiskNeed> needs = Needs();
  ASSERT_EQ(needs.size(), 1u);
  EXPECT_EQ(needs[0].path, "/home/me/.pipe/it");
  EXPECT_EQ(needs[0].bytes, 200u);
  EXPECT_EQ(needs[0].least, 100u);
}

TEST_F(DiskNeedTest, EachFileSystemHasItsOwnNeed) {
  Add(100, 60, "/big/text");
  Add(0, 40, "/big/packed");
  Add(0, 7, "gs://shelf/out");
  const std::vector<DiskNeed> needs = Needs();
  ASSERT_EQ(needs.size(), 2u);
  EXPECT_EQ(needs[0].bytes, 100u) << "a bucket takes no disk";
  EXPECT_EQ(needs[1].path, "/big/text");
  EXPECT_EQ(needs[1].bytes, 100u);
}

TEST_F(DiskNeedTest, ShardsThatExistAreNoNeed) {
  Add(0, 60, "/big/text");
  held_["/big/text"] = 45;
  EXPECT_EQ(Needs().at(0).bytes, 15u);
  held_["/big/text"] = 90;
  EXPECT_TRUE(Needs().empty());
}

TEST_F(DiskNeedTest, DownloadsAreNeededToTheLastByte) {
  const SegmentId source = Add(100, 0);
  forecast_.segments[source].fetched_bytes = 80;
  EXPECT_EQ(Needs().at(0).bytes, 180u);
  EXPECT_EQ(Needs().at(0).least, 130u);
}

TEST_F(DiskNeedTest, WhatATrialTakesIsAGuessAndRefusesNothing) {
  Add(100, 60, "/big/text");
  places_.is_known = false;
  for (const DiskNeed& need : Needs()) EXPECT_EQ(need.least, 0u);
}

TEST_F(DiskNeedTest, OfAHomeInABucketTheScratchHasDownloadsAndShardsOnTheirWay) {
  const SegmentId source = Add(100, 50, "work:tokenizer");
  forecast_.segments[source].fetched_bytes = 80;
  forecast_.spool_bytes = 9;
  places_.has_intermediates = false;
  EXPECT_EQ(Needs().at(0).bytes, 89u);
}

}  // namespace
}  // namespace pipeline
