// Jobs and named inputs: what the executor makes of them, with toys of tests/support/toy_stages.h.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "base/str.h"
#include "dag/books/manifest.h"
#include "tests/dag/says.h"
#include "tests/dag/toy_file.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

const std::string kMark = "  marked: { type: mark, input: docs, model: model }\n";
const std::string kShelve =
    "  text: { type: shelve, input: marked, name: toy, out: \"${out}\", shards: 2 }\n";

Manifest ManifestAt(const std::string& directory) {
  const Result<Manifest> manifest = ParseManifest(ReadFile(directory + "/MANIFEST.json"), directory);
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  return manifest.ok() ? *manifest : Manifest{};
}

TEST(JobTest, ReadsAllRecordsAndItsReadersWaitForIt) {
  ToyPlace place;
  const ToyOutcome first = place.Ok(kToyLearn + kMark + kShelve);
  EXPECT_EQ(place.hand.learnt, 1);
  EXPECT_EQ(first.Count("done model/-"), 1);
  EXPECT_GT(first.Count("done docs/"), 5) << "read by two: materialised";
  EXPECT_EQ(first.Count("done text/train"), 2);
  const Manifest text = ManifestAt(place.path("out/toy/1.0.0"));
  EXPECT_EQ(text.splits.at("train").records, 96u);
  const LineageStage& marked = text.lineage[text.lineage.size() - 2];
  ASSERT_EQ(marked.named_inputs.size(), 1u);
  EXPECT_EQ(marked.named_inputs[0].lineage.back().stage, "model");
  EXPECT_EQ(text.lineage.back().named_inputs.size(), 1u) << "inherited";
  const std::string model = place.PartitionOutput("model", "model");
  EXPECT_EQ(ManifestAt(std::filesystem::path(model).parent_path()).facts.Dump(), R"({"records":96})");
  const ToyOutcome again = place.Ok(kToyLearn + kMark + kShelve);
  EXPECT_EQ(again.units, Lines{});
}

TEST(JobTest, AnotherKeyOfTheJobIsNamedByThoseWhoReadIt) {
  ToyPlace place;
  place.keep_intermediates = true;
  place.Ok(kToyLearn + kMark + kShelve);
  const std::string other = "  model: { type: learn, input: docs, salt: pepper }\n";
  const ToyOutcome refused = place.Run(other + kMark + kShelve);
  EXPECT_TRUE(Says(refused.refusals, "holds another recipe (model: salt: salt -> pepper)"));
  Selection force;
  force.force = "text";
  const ToyOutcome forced = place.Ok(other + kMark + kShelve, force);
  EXPECT_TRUE(Says(forced.because, "text: model: salt: salt -> pepper"));
  EXPECT_EQ(place.hand.learnt, 2);
  EXPECT_GT(forced.Count("done text/0"), 5);
  EXPECT_EQ(forced.Count("done docs/"), 0);
}

TEST(JobTest, ARefusalOfTheStageIsToldFromAnotherWriter) {
  ToyPlace place;
  const Status no(Code::kFailedPrecondition, "too few words");
  place.hand.in_learn = [&no](const JobRequest&) { return no; };
  const ToyOutcome refused = place.Run(kToyLearn);
  EXPECT_EQ(refused.failures, Lines{"model/-: too few words"});
  EXPECT_TRUE(refused.refused);
  place.hand.in_learn = [&no](const JobRequest& request) {
    (void)request.condition("model");
    return no;
  };
  EXPECT_FALSE(place.Run(kToyLearn).refused) << "the condition of an object may have failed";
  place.hand.in_learn = [](const JobRequest&) { return Status(Code::kUnavailable, "later"); };
  EXPECT_FALSE(place.Run(kToyLearn).refused);
}

TEST(JobTest, AnArtifactThatNobodyNeedsMayBeGone) {
  ToyPlace place;
  place.Ok(kToyLearn + kMark + kShelve);
  std::filesystem::remove_all(place.path("work/artifacts"));
  EXPECT_EQ(place.Ok(kToyLearn + kMark + kShelve).units, Lines{});
  EXPECT_EQ(place.hand.learnt, 1);
  const std::string more = "  more: { type: shelve, input: marked, name: more, out: \"${out}\" }\n";
  EXPECT_GT(place.Ok(kToyLearn + kMark + kShelve + more).Count("done more/"), 5);
  EXPECT_EQ(place.hand.learnt, 2);
}

TEST(JobTest, ItIsPublishedWhereOutSaysAndCopiedFromThere) {
  ToyPlace place;
  place.Ok(kToyLearn);
  place.Ok("  model: { type: learn, input: docs, out: \"${out}/model\" }\n");
  EXPECT_EQ(place.hand.learnt, 1) << "copied from the work directory";
  const Lines files = place.Files("out/model");
  place.Ok("  model: { type: learn, input: docs, out: \"${out}/second\" }\n");
  EXPECT_EQ(place.hand.learnt, 1);
  EXPECT_EQ(place.Files("out/second"), files);
  EXPECT_EQ(place.Ok("  model: { type: learn, input: docs, out: \"${out}/second\" }\n").units, Lines{});
}

TEST(JobTest, TheSameInputMadeAnotherWayIsTakenOver) {
  ToyPlace place;
  place.keep_intermediates = true;
  place.Ok(kToyLearn);
  const std::string other = "  model: { type: learn, input: again }\n";
  // Another recipe, the same records: the split of one name alone is another way to say the same.
  const ToyOutcome outcome =
      place.Ok("  again: { type: split, input: lines, splits: { train: 1.0 }, min_documents: 2 }\n" + other);
  EXPECT_EQ(place.hand.learnt, 1) << outcome.units.size();
  EXPECT_EQ(outcome.Count("done model/-") + outcome.Count("done again/"),
            static_cast<int>(outcome.units.size()) - outcome.Count("end again/"));
}

TEST(JobTest, ALostManifestIsWrittenFromTheLog) {
  ToyPlace place;
  place.Ok(kToyLearn);
  const std::string manifest = place.PartitionOutput("model", "MANIFEST.json");
  const std::string bytes = ReadFile(manifest);
  std::filesystem::remove(manifest);
  place.Ok(kToyLearn);
  EXPECT_EQ(place.hand.learnt, 1);
  EXPECT_EQ(ReadFile(manifest), bytes);
  std::filesystem::remove(place.PartitionOutput("model", "model"));
  place.Ok(kToyLearn);
  EXPECT_EQ(place.hand.learnt, 2);
  EXPECT_EQ(ReadFile(manifest), bytes);
}

TEST(JobTest, AnObjectThatSomebodyReplacedByTheSameBytesIsNoFailure) {
  ToyPlace place;
  place.Ok(kToyLearn);
  std::optional<Condition::Kind> kind;
  place.hand.in_learn = [&kind](const JobRequest& request) -> Status {
    kind = request.condition("model").kind;
    return {};
  };
  Selection force;
  force.force = "model";
  place.Ok(kToyLearn, force);
  EXPECT_EQ(kind, Condition::Kind::kReplaceUnlessSame);
}

TEST(JobTest, WhatItNeedsIsHeldAgainstTheLimit) {
  ToyPlace place;
  place.memory = std::uint64_t{1} << 30;
  const ToyOutcome outcome = place.Run("  model: { type: learn, input: docs, needs: 1GiB }\n");
  EXPECT_EQ(outcome.code, Code::kFailedPrecondition);
  EXPECT_TRUE(Says(outcome.failures, "model/-: stage 'model' would take 1.00 GiB of memory"))
      << outcome.failures[0];
  EXPECT_EQ(outcome.Count("failed model/-"), 1);
  EXPECT_EQ(place.hand.learnt, 0);
  place.Ok(kToyLearn);
  EXPECT_EQ(place.hand.learnt, 1) << "what it needs is in no key";
}

TEST(JobTest, AFailureKeepsWhatDependsOnItFromRunning) {
  ToyPlace place;
  place.hand.in_learn = [](const JobRequest&) { return Status(Code::kInternal, "no"); };
  const ToyOutcome outcome = place.Run(kToyLearn + kMark + kShelve, {}, 5);
  EXPECT_EQ(outcome.failures, Lines{"model/-: no"});
  EXPECT_EQ(outcome.Count("done text/"), 0);
  place.hand.in_learn = {};
  Selection retry;
  retry.failed = {"model"};
  EXPECT_EQ(place.Ok(kToyLearn + kMark + kShelve, retry).units, Lines{"done model/-"});
  EXPECT_EQ(place.Ok(kToyLearn + kMark + kShelve).Count("done text/train"), 2);
}

TEST(JobTest, TheMemoryThatARefusalNamesIsEnough) {
  ToyPlace place;
  place.memory = std::uint64_t{60} << 20;  // `mark` takes 32 MiB of it
  const ToyOutcome refused = place.Run(kToyLearn + kMark + kShelve, {}, 5);
  ASSERT_EQ(refused.failures.size(), 1u);
  const std::string& why = refused.failures[0];
  EXPECT_NE(why.find("limits.memory of 60.0 MiB"), std::string::npos) << why;
  const std::size_t number = why.find("give it ");
  ASSERT_NE(number, std::string::npos) << why;
  place.memory = std::stoull(why.substr(number + 8)) << 20;
  place.Ok(kToyLearn + kMark + kShelve);
}

TEST(JobTest, ADamagedPartitionIsMadeAgainAndTheJobRunsAgain) {
  ToyPlace place;
  bool damaged = false;
  place.hand.in_learn = [&](const JobRequest&) {
    if (!std::exchange(damaged, true)) FlipByte(place.PartitionOutput("docs", "0001-00001.part"));
    return Status();
  };
  const ToyOutcome outcome = place.Ok(kToyLearn);
  EXPECT_EQ(place.hand.learnt, 2);
  EXPECT_EQ(outcome.Count("void docs/0001-00001"), 1);
  EXPECT_EQ(outcome.Count("done docs/0001-00001"), 2);
  const std::string model = ReadFile(place.PartitionOutput("model", "model"));
  ToyPlace other;
  other.Ok(kToyLearn);
  EXPECT_EQ(model, ReadFile(other.PartitionOutput("model", "model")));
}

TEST(JobTest, GoingOnFurtherRunsItInTheSamePlace) {
  ToyPlace place;
  place.keep_intermediates = true;
  const std::string out = ", out: \"${out}/model\" }\n";
  place.Ok("  model: { type: learn, input: docs, rounds: 1" + out);
  EXPECT_EQ(place.Ok("  model: { type: learn, input: docs, rounds: 1" + out).units, Lines{});
  const ToyOutcome more = place.Ok("  model: { type: learn, input: docs, rounds: 5" + out);
  EXPECT_TRUE(Says(more.because, R"(the Job goes on: {"rounds":1} -> {"rounds":5})"));
  EXPECT_EQ(more.units, Lines{"done model/-"});
  EXPECT_EQ(place.hand.learnt, 2);
}

TEST(JobTest, AFinishedArtifactStaysUntilItsStageWithdrawsIt) {
  ToyPlace place;
  place.keep_intermediates = true;
  place.hand.learn_withdraws = true;
  const auto learn = [](int rounds) {
    return StrCat("  model: { type: learn, input: docs, rounds: ", rounds, ", out: \"${out}/model\" }\n");
  };
  place.Ok(learn(1));
  const std::string manifest = place.path("out/model/MANIFEST.json"), first = ReadFile(manifest);
  place.hand.in_learn = [&](const JobRequest& request) {
    EXPECT_FALSE(request.forced);
    EXPECT_EQ(ReadFile(manifest), first);
    return Status(Code::kUnavailable, "later");
  };
  EXPECT_FALSE(place.Run(learn(5)).failures.empty());
  EXPECT_EQ(ReadFile(manifest), first);
  EXPECT_EQ(place.Ok(learn(1)).units, Lines{}) << "it is up to date as ever";
  place.hand.in_learn = [&](const JobRequest& request) {
    EXPECT_TRUE(request.withdraw().ok() && request.withdraw().ok());
    EXPECT_FALSE(std::filesystem::exists(manifest));
    return Status();
  };
  place.Ok(learn(5));
  EXPECT_EQ(ManifestAt(place.path("out/model")).continues.Dump(), R"({"rounds":5})");
  place.hand.in_learn = {};
  place.Ok(learn(6));
  EXPECT_EQ(ManifestAt(place.path("out/model")).continues.Dump(), R"({"rounds":6})")
      << "the run withdraws it";
  place.hand.in_learn = [&](const JobRequest& request) {
    EXPECT_TRUE(request.forced);
    return Status();
  };
  Selection force;
  force.force = "model";
  place.Ok(learn(6), force);

  place.hand.learn_withdraws = false;
  place.hand.in_learn = [&](const JobRequest&) {
    EXPECT_FALSE(std::filesystem::exists(manifest));
    return Status();
  };
  place.Ok(learn(7));
}

TEST(JobTest, ForceRunsItAgain) {
  ToyPlace place;
  place.Ok(kToyLearn + kMark + kShelve);
  Selection force;
  force.force = "model";
  const ToyOutcome forced = place.Ok(kToyLearn + kMark + kShelve, force);
  EXPECT_EQ(place.hand.learnt, 2);
  EXPECT_TRUE(Says(forced.because, "text: it is made from outputs that --force model makes again"));
}

TEST(JobTest, OnlyWhatReadsItNeedsItsArtifact) {
  ToyPlace place;
  Selection only;
  only.only = "text";
  EXPECT_TRUE(Says(place.Run(kToyLearn + kMark + kShelve, only).refusals, "needs the artifact of 'model'"));
  Selection until;
  until.until = "model";
  const ToyOutcome learnt = place.Ok(kToyLearn + kMark + kShelve, until);
  EXPECT_EQ(learnt.Count("done text/"), 0);
  EXPECT_EQ(place.Ok(kToyLearn + kMark + kShelve, only).Count("done text/train"), 2);
}

TEST(JobTest, AnArtifactCanBeTheInputOfAJob) {
  ToyPlace place;
  const std::string look = "  seen: { type: look, input: text, out: \"${out}/seen\" }\n";
  const ToyOutcome outcome = place.Ok(kToyLearn + kMark + kShelve + look);
  EXPECT_EQ(outcome.Count("done seen/-"), 1);
  EXPECT_NE(ReadFile(place.path("out/seen/seen")).find("toy-train.tfrecord-00001-of-00002"),
            std::string::npos);
  EXPECT_EQ(place.Ok(kToyLearn + kMark + kShelve + look).units, Lines{});
}

TEST(NamedInputTest, AFileCountsByItsBytes) {
  ToyPlace place;
  WriteFile(place.path("my.model"), "mine\n");
  const std::string mark = "  marked: { type: mark, input: docs, model: " + place.path("my.model") + " }\n";
  const std::string text = "  text: { type: write_tfds, input: marked, name: toy, out: \"${out}\" }\n";
  place.Ok(mark + text);
  EXPECT_EQ(place.Ok(mark + text).units, Lines{});
  WriteFile(place.path("my.model"), "other\n");
  EXPECT_TRUE(Says(place.Run(mark + text).refusals, "marked: port.model: "));
  std::filesystem::remove(place.path("my.model"));
  const ToyOutcome gone = place.Ok(mark + text);
  EXPECT_EQ(gone.units, Lines{});
  EXPECT_TRUE(Says(gone.reports, "the digests that earlier runs recorded are used"));
  const std::string more = "  more: { type: write_tfds, input: marked, name: more, out: \"${out}\" }\n";
  EXPECT_TRUE(Says(place.Run(mark + text + more).refusals, "stage 'marked': "));
}

TEST(NamedInputTest, AFileOfTheMachineIsReportedAndNotActedOn) {
  ToyPlace place;
  place.hand.list_path = place.path("words");
  WriteFile(place.path("words"), "a\n");
  place.Ok(kToyLearn + kMark + kShelve);
  WriteFile(place.path("words"), "b\n");
  const ToyOutcome other = place.Ok(kToyLearn + kMark + kShelve);
  EXPECT_EQ(other.units, Lines{});
  EXPECT_TRUE(Says(other.reports, "marked: library.list words: "));
  std::filesystem::remove(place.path("words"));
  EXPECT_EQ(place.Ok(kToyLearn + kMark + kShelve).units, Lines{});
  Selection strict;
  strict.strict = true;
  WriteFile(place.path("words"), "b\n");
  EXPECT_TRUE(Says(place.Run(kToyLearn + kMark + kShelve, strict).refusals, "library.list words"));
}

TEST(NamedInputTest, AReaderOfAReusedArtifactTellsHowThatWasMade) {
  ToyPlace place;
  place.hand.list_path = place.path("words");
  WriteFile(place.path("words"), "a\n");
  place.Ok(kToyLearn + kMark + kShelve);
  WriteFile(place.path("words"), "b\n");
  const std::string look = "  seen: { type: look, input: text, out: \"${out}/seen\" }\n";
  place.Ok(kToyLearn + kMark + kShelve + look);
  const Lineage text = ManifestAt(place.path("out/toy/1.0.0")).lineage;
  const Lineage seen = ManifestAt(place.path("out/seen")).lineage;
  ASSERT_GT(seen.size(), text.size());
  EXPECT_EQ(Lineage(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(text.size())), text);
  Selection force;
  force.force = "text";
  place.Ok(kToyLearn + kMark + kShelve + look, force);
  EXPECT_NE(ManifestAt(place.path("out/toy/1.0.0")).lineage, text) << "made again, with the words of now";
}

TEST(NamedInputTest, AMetricOfTheTypeIsJudgedOverTheWhole) {
  ToyPlace place;
  const std::string mark =
      "  marked: { type: mark, input: docs, model: model, expect: { long_rate: [0, 0.1] } }\n";
  const ToyOutcome outcome = place.Run(kToyLearn + mark + kShelve);
  EXPECT_TRUE(Says(outcome.failures, "stage 'marked': long_rate is ")) << outcome.failures[0];
}

}  // namespace
}  // namespace pipeline
