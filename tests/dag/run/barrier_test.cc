// Stages that look at all records before they give any, with toys of tests/support/toy_stages.h.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "dag/books/manifest.h"
#include "tests/dag/toy_file.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

const std::string kPick = "  some: { type: pick, input: docs, count: 10 }\n";
const std::string kTextOfSome = "  text: { type: write_tfds, input: some, name: toy, out: \"${out}\" }\n";

TEST(BarrierTest, GivesPartitionsOfItsOwnOfWhatAllInputsHold) {
  ToyPlace place;
  const ToyOutcome first = place.Ok(kPick + kTextOfSome);
  EXPECT_GT(first.Count("done some.in/000"), 5);
  EXPECT_EQ(first.Count("end some.in/"), 3);
  EXPECT_EQ(first.Count("done text/0000-"), 4) << "ten records, three in a partition";
  EXPECT_EQ(first.Count("end text/0000-*"), 1);
  const Result<Manifest> manifest = ParseManifest(ReadFile(place.path("out/toy/1.0.0/MANIFEST.json")), "m");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->splits.at("train").records, 10u);
  EXPECT_EQ(manifest->counts.at("docs").records_in, 96u) << "counted where they were taken in";
  EXPECT_EQ(manifest->counts.at("some").records_out, 10u);
  EXPECT_EQ(manifest->counts.at("text").records_in, 10u);
  EXPECT_EQ(place.Ok(kPick + kTextOfSome).units, Lines{});
}

TEST(BarrierTest, AnotherKeyBehindItTakesNothingInAgain) {
  ToyPlace place;
  place.keep_intermediates = true;
  place.Ok(kPick + kTextOfSome);
  const Lines before = place.Files("out");
  std::filesystem::remove_all(place.path("out"));
  const ToyOutcome barriers = place.Ok(kPick + kTextOfSome);
  EXPECT_EQ(barriers.Count("done text/0"), 0) << "its pieces stand";
  EXPECT_EQ(place.Files("out"), before);
  const std::string text =
      "  text: { type: write_tfds, input: some, name: toy, version: 2.0.0, shuffle: none, out: \"${out}\" "
      "}\n";
  const ToyOutcome other = place.Ok(kPick + text);
  EXPECT_EQ(other.Count("done some.in/"), 0);
  EXPECT_EQ(other.Count("done text/0000-"), 4);
}

TEST(BarrierTest, ItsPiecesMayBeGoneWhenNobodyWantsThem) {
  ToyPlace place;
  place.keep_intermediates = true;
  place.Ok(kPick + kTextOfSome);
  const Lines before = place.Files("out");
  std::filesystem::remove_all(
      std::filesystem::path(place.PartitionOutput("some.in", "0000-00000.pick")).parent_path());
  std::filesystem::remove_all(place.path("out"));
  EXPECT_EQ(place.Ok(kPick + kTextOfSome).Count("done some.in/"), 0);
  EXPECT_EQ(place.Files("out"), before) << "the counts of what it took in are in the log";
}

TEST(BarrierTest, ADamagedPieceIsTakenInAgain) {
  ToyPlace place;
  place.keep_intermediates = true;
  Selection until;
  place.Ok(kPick + kTextOfSome);
  const Lines before = place.Files("out");
  std::filesystem::remove_all(place.path("out"));
  std::filesystem::remove_all(
      std::filesystem::path(place.PartitionOutput("text", "0000-00000.spill")).parent_path());
  FlipByte(place.PartitionOutput("some.in", "0002-00001.pick"));
  const ToyOutcome outcome = place.Ok(kPick + kTextOfSome);
  EXPECT_EQ(outcome.Count("void some.in/0002-00001"), 1);
  EXPECT_EQ(outcome.Count("done some.in/"), 1);
  EXPECT_EQ(outcome.Count("done text/0000-"), 4);
  EXPECT_EQ(place.Files("out"), before);
}

TEST(BarrierTest, WhatIsReadTwiceIsMaterialisedBehindIt) {
  ToyPlace place;
  const std::string learn = "  model: { type: learn, input: some }\n";
  const ToyOutcome outcome = place.Ok(kPick + kTextOfSome + learn);
  EXPECT_EQ(outcome.Count("done some/0000-"), 4);
  EXPECT_EQ(outcome.Count("done text/0000-"), 4);
  EXPECT_EQ(outcome.Count("done model/-"), 1);
  EXPECT_EQ(place.Ok(kPick + kTextOfSome + learn).units, Lines{});
}

TEST(BarrierTest, ItTakesInBesideAnotherReaderOfTheSameRecords) {
  ToyPlace place;
  const std::string all = "  all: { type: write_tfds, input: docs, name: all, out: \"${out}\" }\n";
  const ToyOutcome outcome = place.Ok(kPick + kTextOfSome + all);
  EXPECT_GT(outcome.Count("done docs/"), 5);
  EXPECT_EQ(outcome.Count("done docs/"), outcome.Count("done some.in/"));
  EXPECT_EQ(outcome.Count("end docs/"), 3);
  EXPECT_EQ(place.Ok(kPick + kTextOfSome + all).units, Lines{});
}

TEST(BarrierTest, OneAfterTheOther) {
  ToyPlace place;
  const std::string fewer = "  fewer: { type: pick, input: some, count: 4, per: 2 }\n";
  const std::string text = "  text: { type: write_tfds, input: fewer, name: toy, out: \"${out}\" }\n";
  const ToyOutcome outcome = place.Ok(kPick + fewer + text);
  EXPECT_EQ(outcome.Count("done fewer.in/0000-"), 4);
  EXPECT_EQ(outcome.Count("done text/0000-"), 2);
  const Result<Manifest> manifest = ParseManifest(ReadFile(place.path("out/toy/1.0.0/MANIFEST.json")), "m");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->counts.at("docs").records_in, 96u);
  EXPECT_EQ(manifest->counts.at("some").records_out, 10u);
  EXPECT_EQ(manifest->counts.at("fewer").records_out, 4u);
}

}  // namespace
}  // namespace pipeline
