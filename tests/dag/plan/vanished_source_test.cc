#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "dag/plan/inputs.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

using Wanted = std::vector<Snapshot::Files::Wanted>;

const RecordedFiles kTwo = {{"a.txt", DigestOf("a").ToHex()}, {"b.txt", DigestOf("b").ToHex()}};

TEST(VanishedSourceTest, TheSameNamesInTheSameOrderAreWanted) {
  EXPECT_TRUE(AreThoseWanted({{"a.txt", false, {}}, {"b.txt", false, {}}}, kTwo));
  EXPECT_FALSE(AreThoseWanted({{"b.txt", false, {}}, {"a.txt", false, {}}}, kTwo));
  EXPECT_FALSE(AreThoseWanted({{"a.txt", false, {}}}, kTwo));
  EXPECT_FALSE(AreThoseWanted({{"a.txt", false, {}}, {"b.txt", false, {}}, {"c.txt", false, {}}}, kTwo));
  EXPECT_FALSE(AreThoseWanted({}, kTwo));
  EXPECT_FALSE(AreThoseWanted({}, {})) << "nobody knows what is wanted";
}

TEST(VanishedSourceTest, APatternStandsForAllThatItMatches) {
  EXPECT_TRUE(AreThoseWanted({{"*.txt", true, {}}}, kTwo));
  EXPECT_TRUE(AreThoseWanted({{"?.txt", true, {}}, {"b.txt", false, {}}}, kTwo));
  EXPECT_TRUE(AreThoseWanted({{"a*", true, {}}, {"b*", true, {}}}, kTwo));
  EXPECT_FALSE(AreThoseWanted({{"a*", true, {}}}, kTwo)) << "b.txt was read as well";
  EXPECT_FALSE(AreThoseWanted({{"*.txt", true, {}}, {"c*", true, {}}}, kTwo))
      << "a pattern matches something";
  EXPECT_FALSE(AreThoseWanted({{"*.txt", true, {}}}, {}));
}

TEST(VanishedSourceTest, WhatIsStillThereHasTheBytesOfThen) {
  EXPECT_EQ(ChangedOf({{"a.txt", false, {}}, {"b.txt", false, DigestOf("b")}}, kTwo), "");
  EXPECT_EQ(ChangedOf({{"a.txt", false, {}}, {"b.txt", false, DigestOf("c")}}, kTwo), "b.txt");
  EXPECT_EQ(ChangedOf({{"*", true, {}}}, kTwo), "");
  const RecordedFiles three = {kTwo[0], {"x.txt", DigestOf("x").ToHex()}, kTwo[1]};
  EXPECT_EQ(ChangedOf({{"*", true, {}}, {"b.txt", false, DigestOf("b")}}, three), "");
  EXPECT_EQ(ChangedOf({{"*", true, {}}, {"b.txt", false, DigestOf("a")}}, three), "b.txt");
}

TEST(VanishedSourceTest, ThePersonIsToldWhichFilesThoseWere) {
  EXPECT_EQ(Describe({{"a.txt", "0123"}}, 1769860800000), "a.txt, digest 0123, read on 2026-01-31");
  EXPECT_EQ(Describe({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}, 0),
            "a, digest 1; b, digest 2; and 2 more");
}

TEST(VanishedSourceTest, OnlyWhatMayBeGoneIsGone) {
  EXPECT_TRUE(MayBeGone(Status(Code::kNotFound, "no such file")));
  EXPECT_TRUE(MayBeGone(Status(Code::kUnavailable, "cannot be reached")));
  EXPECT_FALSE(MayBeGone(Status(Code::kDataLoss, "is not the file that it is pinned to")));
  EXPECT_FALSE(MayBeGone(Status(Code::kInvalidArgument, "is a directory")));
}

TEST(VanishedSourceTest, APlaceThatIsOnlyReadGoesByItsManifest) {
  ToyPlace place;
  const std::string text = "  text: { type: write_tfds, input: docs, name: toy, out: \"${out}\" }\n";
  const std::string seen = "  seen: { type: look, input: text, out: \"${out}/seen\" }\n";
  place.Ok(text);
  // On another machine, where nothing is but the place.
  for (int file = 0; file < 3; ++file)
    std::filesystem::remove(place.path("corpus-" + std::to_string(file) + ".txt"));
  std::filesystem::remove_all(place.path("work"));
  Selection only;
  only.only = "seen";
  const ToyOutcome outcome = place.Ok(text + seen, only);
  EXPECT_EQ(outcome.Count("done seen/-"), 1);
  EXPECT_EQ(outcome.units.size(), 1u);
  EXPECT_TRUE(std::any_of(outcome.reports.begin(), outcome.reports.end(), [](const std::string& report) {
    return report.find("the digests that earlier runs recorded are used") != std::string::npos;
  }));
  EXPECT_EQ(place.Ok(text + seen).units, std::vector<std::string>{}) << "and so does a plain run";
}

}  // namespace
}  // namespace pipeline
