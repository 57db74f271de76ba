// Which reading rules a plan chooses, with toys of tests/support/toy_stages.h.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/dag/says.h"
#include "tests/dag/toy_file.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

const std::string kSecondText = "  more: { type: write_tfds, input: docs, name: more, out: \"${out}\" }\n";

/// The rules in the manifest of the artifact `name`; the first ones are in no manifest.
std::string RulesOf(const ToyPlace& place, const std::string& name) {
  const std::string manifest = ReadFile(place.path("out/" + name + "/1.0.0/MANIFEST.json"));
  EXPECT_FALSE(manifest.empty()) << name;
  return manifest.find("\"rules\":\"2\"") != std::string::npos ? "2" : "1";
}

/// Work as an earlier version left it, whose recipes have no rules.
void MakeByTheFirstRules(ToyPlace& place, const std::string& stages) {
  place.rules = "1";
  place.Ok(stages);
  place.rules.clear();
}

TEST(ReadingRulesTest, NewWorkIsReadByTheNewest) {
  ToyPlace place;
  const ToyOutcome outcome = place.Ok(kToyText);
  EXPECT_EQ(RulesOf(place, "toy"), "2");
  EXPECT_EQ(outcome.reports, Lines{});
}

TEST(ReadingRulesTest, FinishedWorkStaysDoneAndNothingIsSaid) {
  ToyPlace place;
  MakeByTheFirstRules(place, kToyText);
  const ToyOutcome again = place.Ok(kToyText);
  EXPECT_EQ(again.units, Lines{});
  EXPECT_EQ(again.reports, Lines{});
  EXPECT_EQ(RulesOf(place, "toy"), "1");
}

TEST(ReadingRulesTest, ANewStageOverEarlierWorkKeepsItsRulesAndALineTellsWhatOthersWouldChange) {
  ToyPlace place;
  MakeByTheFirstRules(place, kToyText);
  const ToyOutcome more = place.Ok(kToyText + kSecondText);
  EXPECT_EQ(RulesOf(place, "more"), "1");
  EXPECT_EQ(more.Count("done text/"), 0);
  ASSERT_EQ(more.reports.size(), 1U);
  EXPECT_TRUE(Says(more.reports, "'lines'")) << more.reports[0];
  EXPECT_TRUE(Says(more.reports, "white space alone")) << more.reports[0];
}

TEST(ReadingRulesTest, TheManifestAloneKeepsThem) {
  ToyPlace place;
  MakeByTheFirstRules(place, kToyText);
  std::filesystem::remove_all(place.path("work"));
  EXPECT_EQ(place.Ok(kToyText).units, Lines{});
  place.Ok(kToyText + kSecondText);
  EXPECT_EQ(RulesOf(place, "more"), "1");
}

TEST(ReadingRulesTest, TheLogAloneKeepsThem) {
  ToyPlace place;
  Selection until_model;
  until_model.until = "model";
  place.keep_intermediates = true;
  place.rules = "1";
  EXPECT_GT(place.Ok(kToyLearn + kToyText, until_model).Count("done docs/"), 0);
  place.rules.clear();
  const ToyOutcome rest = place.Ok(kToyLearn + kToyText);
  EXPECT_EQ(rest.Count("done docs/"), 0) << "what was read stays read";
  EXPECT_EQ(RulesOf(place, "toy"), "1");
}

TEST(ReadingRulesTest, AMarkerAloneKeepsThem) {
  ToyPlace place;
  place.rules = "1";
  place.hand.in_learn = [](const JobRequest&) { return Status(Code::kInternal, "no"); };
  place.Run(kToyLearn + kToyText, {}, kAllFailures, ExecutionMode::kPlanning);
  ASSERT_FALSE(ReadFile(place.path("out/toy/1.0.0/.pipe/claim.json")).empty());
  std::filesystem::remove_all(place.path("work"));
  place.rules.clear();
  place.hand.in_learn = {};
  place.Ok(kToyText);
  EXPECT_EQ(RulesOf(place, "toy"), "1");
}

TEST(ReadingRulesTest, TheKeyTakesTheNewestOverEarlierWork) {
  ToyPlace place;
  MakeByTheFirstRules(place, kToyText);
  place.rules = "2";
  place.Ok(kSecondText);
  EXPECT_EQ(RulesOf(place, "more"), "2");
  EXPECT_FALSE(place.Run(kToyText).refusals.empty()) << "the location holds another recipe";
}

TEST(ReadingRulesTest, WorkByTheNewestIsFoundAgain) {
  ToyPlace place;
  place.Ok(kToyText);
  EXPECT_EQ(place.Ok(kToyText).units, Lines{});
  place.Ok(kToyText + kSecondText);
  EXPECT_EQ(RulesOf(place, "more"), "2");
}

}  // namespace
}  // namespace pipeline
