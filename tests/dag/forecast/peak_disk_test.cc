#include <gtest/gtest.h>

#include <chrono>

#include "dag/forecast/forecast.h"

namespace pipeline {
namespace {

/// A plan whose segments need each other as told, and the bytes of each.
struct Made {
  Plan plan;
  IdVector<SegmentId, SegmentForecast> expected;

  SegmentId Add(std::uint64_t intermediate, std::uint64_t published, std::optional<SegmentId> upstream = {}) {
    PlannedSegment segment(NodeId(plan.segments.size()));
    segment.upstream = upstream;
    segment.publishes = published > 0;
    segment.removable = true;
    SegmentForecast forecast;
    forecast.intermediate_bytes = intermediate;
    forecast.published_bytes = published;
    expected.push_back(forecast);
    return plan.segments.push_back(std::move(segment));
  }
  std::uint64_t Peak() const { return PeakOfOutputs(plan, expected); }
};

TEST(PeakDiskTest, ShardsAreWrittenWhenTheInputOfTheirFirstPassIsGone) {
  Made made;
  const SegmentId docs = made.Add(100, 0);
  made.Add(110, 90, docs);
  EXPECT_EQ(made.Peak(), 210u) << "the first pass; the second one takes 200";
}

TEST(PeakDiskTest, AnIntermediateWaitsForAllOfItsReaders) {
  Made made;
  const SegmentId docs = made.Add(100, 0);
  made.Add(10, 20, docs);
  made.Add(30, 40, docs);
  EXPECT_EQ(made.Peak(), 100u + 10 + 30 + 40) << "one reader publishes while the other one still reads";
}

TEST(PeakDiskTest, ASegmentThatNeedsAnArtifactBeginsAfterItsMaker) {
  Made made;
  const SegmentId docs = made.Add(100, 0);
  const SegmentId first = made.Add(50, 5, docs);
  const SegmentId second = made.Add(80, 8);
  made.plan.segments[second].side_inputs.push_back({NodeId(2), "model", first, {}});
  EXPECT_EQ(made.Peak(), 150u) << "later 5 + 80 + 8";
}

TEST(PeakDiskTest, WhatIsKeptOrReadByAStageThatIsNotSelectedStays) {
  Made made;
  const SegmentId docs = made.Add(100, 0);
  made.Add(110, 90, docs);
  made.plan.segments[docs].removable = false;
  EXPECT_EQ(made.Peak(), 300u);
  made.plan.segments[docs].removable = true;
  made.Add(1, 1, docs);
  made.plan.segments[SegmentId(2)].state = PlannedSegment::State::kNotSelected;
  EXPECT_EQ(made.Peak(), 300u);
}

TEST(PeakDiskTest, APlanWithVeryManySegmentsTakesTheSumAndNoLongTime) {
  Made made;
  const SegmentId docs = made.Add(1000, 0);
  std::uint64_t all = 1000;
  for (int reader = 0; reader < 400; ++reader, all += 3) made.Add(1, 2, docs);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(made.Peak(), all) << "no worse than the sum";
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

}  // namespace
}  // namespace pipeline
