// A run at the locations where it will publish, before anything runs.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "dag/books/manifest.h"
#include "dag/location/publishing.h"
#include "dag/location/versioned_lease.h"
#include "dag/run/prepare_segments.h"
#include "storage/memory_store.h"
#include "tests/support/silent_progress.h"

namespace pipeline {
namespace {

class MarkerTest : public testing::Test {
 protected:
  MarkerTest() {
    LineageStage stage;
    stage.stage = "text";
    stage.recipe = DigestOf("recipe");
    planned_.lineage = {stage};
    planned_.keys.stage = "text";
    planned_.location = "gs://bucket/out";
    environment_.progress = &progress_;
    environment_.lease = {"ours", "ours, process 1", "", std::chrono::milliseconds(1000)};
    auto state = std::make_unique<SegmentState>();
    auto out = std::make_unique<MemoryStore>();
    out_ = out.get();
    state->planned = &planned_;
    state->scope.planned = &planned_;
    state->scope.environment = &environment_;
    state->out = std::move(out);
    state->phase = SegmentState::Phase::kPartitions;
    prepared_.states.push_back(std::move(state));
  }
  std::string WriteManifest(const std::string& text) {
    const auto written = WriteObject(*out_, kManifestName, text, Condition::ReplaceAny());
    EXPECT_TRUE(written.ok());
    return written.ok() ? written->version : "";
  }
  Code PublicationMarker() { return MarkLocations(prepared_, environment_, {}).status().code(); }
  std::string Holder() {
    const auto seen = VersionedLease(*out_, planned_.location, {}).Look({});
    return seen.ok() && *seen ? (*seen)->holder : "nobody ever";
  }
  bool HasMarker() { return out_->Stat(kMarkerName)->has_value(); }

  SilentProgress progress_;
  Environment environment_;
  PlannedSegment planned_{NodeId(0)};
  PreparedSegments prepared_;
  MemoryStore* out_ = nullptr;  // of the segment
};

TEST_F(MarkerTest, WritesAMarkerAndHoldsTheLease) {
  {
    const auto leases = MarkLocations(prepared_, environment_, {});
    ASSERT_TRUE(leases.ok()) << leases.status().message();
    EXPECT_TRUE(HasMarker());
    EXPECT_EQ(Holder(), "ours");
  }
  EXPECT_EQ(Holder(), "");
}

TEST_F(MarkerTest, RefusesWhatAnotherRunPublishedSinceThePlan) {
  WriteManifest("of another run");
  EXPECT_EQ(PublicationMarker(), Code::kFailedPrecondition);
  EXPECT_FALSE(HasMarker());
  EXPECT_EQ(Holder(), "") << "given back";
}

TEST_F(MarkerTest, TakesThePlaceWhoseManifestIsThatOfThePlan) {
  planned_.manifest_version = WriteManifest("as planned");
  EXPECT_EQ(PublicationMarker(), Code::kOk);
}

TEST_F(MarkerTest, RefusesAnotherManifestThanThatOfThePlan) {
  planned_.manifest_version = WriteManifest("as planned");
  WriteManifest("another");
  EXPECT_EQ(PublicationMarker(), Code::kFailedPrecondition);
}

TEST_F(MarkerTest, RefusesAPlaceWhoseManifestWasWithdrawnSinceThePlan) {
  planned_.manifest_version = WriteManifest("as planned");
  ASSERT_TRUE(out_->Remove(kManifestName).ok());
  EXPECT_EQ(PublicationMarker(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace pipeline
