#include <gtest/gtest.h>

#include <iterator>

#include "dag/plan/planner.h"
#include "tests/dag/says.h"
#include "tests/support/fake_pipeline.h"

namespace pipeline {
namespace {

using State = PlannedSegment::State;
using Lines = std::vector<std::string>;

/// What may differ between two versions of a pipeline file: source -> text -> clean -> docs, and what
/// `stages` adds.
struct FileVersion {
  std::string stages;
  std::string clean = "form: nfkc";
  std::string docs = "splits: { train: rest }";
};

std::string Shards(const std::string& name, const std::string& more = "") {
  return "  " + name + ": { type: publish, input: docs, name: " + name + ", out: o" + more + " }\n";
}

/// A pipeline file and its existing outputs, built by hand.
class World {
 public:
  explicit World(const FileVersion& file) {
    Edit(file);
    SourceFile corpus;
    corpus.input = {"/corpus/u", "u"};
    corpus.digest = DigestOf("u");
    snapshot.files["source"].files = {corpus};
    stored.outputs = [this](const OutputKeys& keys,
                            const std::string& directory) -> Result<PartitionOutputs> {
      return Existing(keys, directory);
    };
    stored.at_location = [](const std::string&) -> Result<Snapshot::Published> {
      return Snapshot::Published{};
    };
  }
  World(const World&) = delete;

  /// Another file in the same place.
  void Edit(const FileVersion& file) {
    spec_ =
        ParseFake(FakeFile("  source: { type: fetch, url: u }\n  text: { type: lines, input: source }\n"
                           "  clean: { type: map, input: text, " +
                           file.clean +
                           " }\n"
                           "  docs: { type: divide, input: clean, " +
                           file.docs + " }\n" + file.stages));
    std::vector<Mistake> mistakes;
    graph_ = Graph::Build(spec_.stages, mistakes);
    EXPECT_TRUE(mistakes.empty());
  }

  Plan Make(const Selection& selection = {}) {
    Result<Plan> plan = MakePlan(graph_, snapshot, stored, selection);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? std::move(*plan) : Plan{};
  }

  /// Plans and does all that is wanted; what ran.
  Lines Run(const Selection& selection = {}) {
    const Plan plan = Make(selection);
    EXPECT_EQ(plan.refusals, Lines{});
    for (const PlannedSegment& segment : plan.segments) {
      if (segment.state != State::kWanted) continue;
      existing[segment.directory] = kPartitions;
      snapshot.logged[Name(segment)] = segment.lineage;
      if (!segment.publishes) continue;
      snapshot.published[Name(segment)] = {};
      snapshot.published[Name(segment)].manifest.emplace().lineage = segment.lineage;
    }
    return In(plan, State::kWanted);
  }

  /// "text..docs" for a chain from text to docs, "docs => a" where it reads partition files.
  Lines In(const Plan& plan, State state) const {
    Lines lines;
    for (const PlannedSegment& segment : plan.segments) {
      if (segment.state != state) continue;
      std::string line = Name(segment);
      if (segment.chain.size() > 1) line = NameOf(segment.chain.front()) + ".." + line;
      if (segment.upstream) line = Name(plan.segments[*segment.upstream]) + " => " + line;
      lines.push_back(line);
    }
    return lines;
  }

  std::string NameOf(NodeId node) const { return graph_[node].spec->name; }
  std::string Name(const PlannedSegment& segment) const { return NameOf(segment.node); }

  static constexpr std::uint32_t kPartitions = 2;
  Snapshot snapshot;
  StoredOutputs stored;
  std::map<std::string, std::uint32_t> existing;  // by directory: how many pieces

 private:
  PartitionOutputs Existing(const OutputKeys& keys, const std::string& directory) const {
    PartitionOutputs outputs;
    outputs.inputs().resize(keys.end_recipes.size());
    const auto found = existing.find(directory);
    if (found == existing.end()) return outputs;
    for (OutputsOfInput& input : outputs.inputs()) {
      input.end = InputEnd{kPartitions, 100, 2, {}};
      for (std::uint32_t partition = 0; partition < found->second; ++partition)
        input.existing[partition] = {};
    }
    return outputs;
  }

  PipelineSpec spec_;
  Graph graph_;
};

Selection Only(const std::string& stage, const std::string& force = "") {
  Selection selection;
  selection.only = stage;
  selection.force = force;
  return selection;
}

TEST(PlanTest, OneReaderStreamsFromTheSource) {
  World world({Shards("a")});
  EXPECT_EQ(world.Run(), Lines{"text..a"});
  EXPECT_TRUE(world.Make().nothing_to_do());
}

TEST(PlanTest, WhatTwoWantedSegmentsReadIsMaterialised) {
  World world({Shards("a") + Shards("b")});
  EXPECT_EQ(world.Run(), (Lines{"text..docs", "docs => a", "docs => b"}));
  EXPECT_TRUE(world.Make().nothing_to_do());
}

TEST(PlanTest, ASecondReaderFeedsItselfAlone) {
  World world({Shards("a")});
  world.Run();
  world.Edit({Shards("a") + Shards("b")});
  EXPECT_EQ(world.Run(), Lines{"text..b"});
  world.Edit({Shards("a") + Shards("b") + Shards("c") + Shards("d")});
  EXPECT_EQ(world.Run(), (Lines{"text..docs", "docs => c", "docs => d"}));
}

TEST(PlanTest, PartitionFilesThatStandAreReadAgain) {
  World world({Shards("a") + Shards("b")});
  world.Run();
  world.Edit({Shards("a") + Shards("b") + Shards("c")});
  EXPECT_EQ(world.Run(), Lines{"docs => c"});
}

TEST(PlanTest, IntermediatesThatAreGoneAreNoReasonToRun) {
  World world({Shards("a") + Shards("b")});
  world.Run();
  world.existing.clear();
  EXPECT_TRUE(world.Make().nothing_to_do());
}

TEST(PlanTest, AKeyOfTheSecondPassAloneLeavesThePieces) {
  World world({Shards("a")});
  world.Run();
  world.Edit({Shards("a", ", shards: 3, version: 2.0.0")});
  world.snapshot.published.clear();
  const Plan plan = world.Make();
  ASSERT_EQ(plan.segments.size(), 1u);
  EXPECT_TRUE(plan.segments[SegmentId(0)].outputs.complete());
  EXPECT_EQ(plan.segments[SegmentId(0)].because,
            (Lines{"a: shards: auto -> 3", "a: version: 1.0.0 -> 2.0.0"}));
  world.Edit({Shards("a", ", shuffle: { seed: 9 }")});
  EXPECT_FALSE(world.Make().segments[SegmentId(0)].outputs.complete());
}

TEST(PlanTest, ASegmentWithAllItsPiecesMakesNoOrigin) {
  World world({Shards("a") + Shards("b")});
  world.Run();
  for (auto at = world.existing.begin(); at != world.existing.end();)
    at = at->first.substr(0, 5) == "docs-" ? world.existing.erase(at) : std::next(at);
  world.snapshot.published.clear();
  world.Edit({Shards("a") + Shards("b"), "form: nfkc", "splits: { train: rest }, keep: true"});
  EXPECT_EQ(world.Run(), (Lines{"text..a", "text..b"})) << "both only gather";
}

TEST(PlanTest, KeepIsNoReasonToRunAndDecidesWhatBecomesOfRecords) {
  World world({Shards("a")});
  world.Run();
  const FileVersion kept{Shards("a"), "form: nfkc, keep: true"};
  world.Edit(kept);
  EXPECT_TRUE(world.Make().nothing_to_do());
  world.snapshot.published.clear();
  world.existing.clear();
  EXPECT_EQ(world.Run(), (Lines{"text..clean", "clean => docs..a"}));
  // The end of the input is known from `clean`, through two files of partitions.
  world.Edit({Shards("a") + Shards("b"), kept.clean, "splits: { train: 0.5, test: 0.5 }"});
  world.snapshot.published.clear();
  EXPECT_EQ(world.Run(), (Lines{"clean => docs", "docs => a", "docs => b"}));
  world.Edit({Shards("a") + Shards("b") + Shards("c"), kept.clean, "splits: { train: 0.5, test: 0.5 }"});
  EXPECT_EQ(world.Run(), Lines{"docs => c"});
}

TEST(PlanTest, KeptArtifactsAreInThePlanForThoseWhoClean) {
  World world({Shards("a"), "form: nfkc, keep: true"});
  world.Run();
  EXPECT_EQ(world.In(world.Make(), State::kUpToDate), (Lines{"clean", "a"}));
}

TEST(PlanTest, TheEndOfALineThatNobodyReadsIsWanted) {
  World world({"  words: { type: cut, input: docs }\n"});
  EXPECT_EQ(world.Run(), Lines{"text..words"});
  EXPECT_EQ(world.In(world.Make(), State::kUpToDate), Lines{"words"});
}

TEST(PlanTest, UpstreamSegmentsComeBeforeTheirReaders) {
  World world({Shards("a") + Shards("b") + "  words: { type: cut, input: clean, keep: true }\n"});
  const Plan plan = world.Make();
  for (const SegmentId at : plan.segments.ids()) EXPECT_LT(plan.segments[at].upstream, std::optional(at));
  EXPECT_EQ(world.In(plan, State::kWanted),
            (Lines{"text..clean", "clean => docs", "docs => a", "docs => b", "clean => words"}));
}

TEST(PlanTest, APlaceWithAnotherRecipeIsRefusedAndForcedOpen) {
  World world({Shards("a") + Shards("b")});
  world.Run();
  world.Edit({Shards("a") + Shards("b"), "form: nfc"});
  const Plan refused = world.Make();
  ASSERT_EQ(refused.refusals.size(), 2u);
  EXPECT_TRUE(Says(refused.refusals, "stage 'a': o/a/1.0.0 holds another recipe (clean: form: nfkc -> nfc)"))
      << refused.refusals[0];
  Selection only;
  only.only = "b";
  EXPECT_EQ(world.Make(only).refusals.size(), 1u) << "what is not selected is not refused";
  Selection force;
  force.force = "clean";
  const Plan forced = world.Make(force);
  EXPECT_EQ(forced.refusals, Lines{});
  EXPECT_EQ(world.In(forced, State::kWanted), (Lines{"text..docs", "docs => a", "docs => b"}));
  EXPECT_TRUE(forced.segments[SegmentId(0)].forced);
  EXPECT_TRUE(forced.segments[SegmentId(1)].replaces);
}

TEST(PlanTest, AForeignPlaceIsRefused) {
  World world({Shards("a")});
  world.snapshot.published["a"].foreign = true;
  EXPECT_TRUE(Says(world.Make().refusals, "o/a/1.0.0 holds objects that pipe did not write"));
  Selection force;
  force.force = "a";
  EXPECT_EQ(world.Make(force).refusals.size(), 1u);
}

TEST(PlanTest, WhatStandsDamagedIsLeftOutAndTheRestRuns) {
  World world({Shards("a") + Shards("b")});
  world.Run();
  world.snapshot.published["a"] = {};
  world.snapshot.published["a"].damaged = Status(Code::kDataLoss, "o/a/MANIFEST.json: damaged");
  const Plan plan = world.Make();
  EXPECT_TRUE(plan.nothing_to_do());
  EXPECT_EQ(plan.refusals, Lines{});
  EXPECT_EQ(plan.left_out, Lines{"stage 'a' is left out: o/a/MANIFEST.json: damaged"});
  world.snapshot.published.erase("b");
  EXPECT_EQ(world.In(world.Make(), State::kWanted), Lines{"docs => b"});
  EXPECT_EQ(world.Make(Only("b")).left_out, Lines{});
  const Plan forced = world.Make(Only("a", "a"));
  EXPECT_EQ(forced.left_out, Lines{});
  EXPECT_EQ(world.In(forced, State::kWanted), Lines{"docs => a"});
  for (const PlannedSegment& segment : forced.segments)
    EXPECT_EQ(segment.replaces, segment.state == State::kWanted);
}

TEST(PlanTest, WhatNobodyElseNeedsIsLeftOutWithIt) {
  World world({Shards("a") + Shards("b")});
  world.snapshot.published["a"].damaged = world.snapshot.published["b"].damaged =
      Status(Code::kDataLoss, "damaged");
  const Plan plan = world.Make();
  EXPECT_EQ(plan.left_out.size(), 2u);
  EXPECT_TRUE(plan.nothing_to_do()) << "the partitions for both";
}

TEST(PlanTest, NothingIsPublishedBesideWhatItsReadersWouldTake) {
  World world({Shards("a") + Shards("b")});
  world.Run();
  world.snapshot.published["a"] = world.snapshot.published["b"] = {};
  world.snapshot.published["a"].in_the_way = {"mine", "other", "third", "fourth"};
  EXPECT_TRUE(Says(world.Make().refusals, "no run wrote mine, other, third and 1 more, and"));
  EXPECT_EQ(world.Make(Only("b")).refusals, Lines{});
}

TEST(PlanTest, ALostShardIsWantedFromThePieces) {
  World world({Shards("a")});
  world.Run();
  world.snapshot.published["a"].whole = false;
  world.snapshot.published["a"].missing = "a-00001";
  const Plan plan = world.Make();
  EXPECT_EQ(world.In(plan, State::kWanted), Lines{"text..a"});
  EXPECT_TRUE(plan.segments[SegmentId(0)].outputs.complete());
  EXPECT_TRUE(plan.segments[SegmentId(0)].replaces);
  EXPECT_TRUE(Says(plan.segments[SegmentId(0)].because, "a-00001 is gone or was changed"));
}

TEST(PlanTest, LibrariesOfAnotherVersionAreReportedUnlessStrict) {
  World world({Shards("a")});
  world.Run();
  for (LineageStage& stage : world.snapshot.published["a"].manifest->lineage)
    if (stage.stage == "clean") stage.libraries["fake"] = "0.9";
  Lineage& lineage = world.snapshot.published["a"].manifest->lineage;
  std::optional<Digest> input;
  for (LineageStage& stage : lineage) input = stage.recipe = RecipeOf(stage, input);
  const Plan plan = world.Make();
  EXPECT_TRUE(plan.nothing_to_do());
  EXPECT_TRUE(Says(plan.reports, "library.fake: 0.9 -> 1.0"));
  Selection strict;
  strict.strict = true;
  EXPECT_TRUE(Says(world.Make(strict).refusals, "library.fake"));
}

TEST(PlanTest, ASourceThatIsGoneMattersOnlyToWhatReadsIt) {
  World world({Shards("a")});
  world.Run();
  world.snapshot.files["source"].files.clear();
  world.snapshot.files["source"].missing = Status(Code::kNotFound, "u: no such file");
  world.snapshot.files["source"].wanted = {{"u", false, {}}};
  const Plan plan = world.Make();
  EXPECT_TRUE(plan.nothing_to_do());
  EXPECT_TRUE(Says(plan.reports, "u: no such file; the digests that earlier runs recorded are used"));
  EXPECT_EQ(plan.vanished.at("source"), "u: no such file; recorded: u, digest " + DigestOf("u").ToHex());
  const std::map<std::string, Snapshot::Published> published = world.snapshot.published;
  world.snapshot.published.clear();
  EXPECT_TRUE(Says(world.Make().refusals, "Add --from-log")) << "nobody said so";
  world.snapshot.published["a"].marker_recipe = published.at("a").manifest->recipe().ToHex();
  EXPECT_EQ(world.Make().refusals, Lines{}) << "a run was cut off there";
  world.snapshot.published.clear();
  Selection from_log;
  from_log.from_log = true;
  EXPECT_EQ(world.Run(from_log), Lines{"text..a"}) << "its pieces stand";
  world.Edit({Shards("a") + Shards("b")});
  EXPECT_TRUE(Says(world.Make().refusals, "stage 'source': u: no such file"));
}

TEST(PlanTest, OnlyTheNamesThatWereReadStandInForASource) {
  World world({Shards("a")});
  world.Run();
  Snapshot::Files& files = world.snapshot.files["source"];
  const Snapshot::Files there = files;
  files.files.clear();
  files.missing = Status(Code::kNotFound, "v: no such file");
  using Wanted = std::vector<Snapshot::Files::Wanted>;
  for (const Wanted& wanted : {Wanted{{"v", false, {}}}, Wanted{{"u", false, {}}, {"v", false, {}}}, Wanted{},
                               Wanted{{"v*", true, {}}}, Wanted{{"u", false, DigestOf("other")}}}) {
    files.wanted = wanted;
    EXPECT_TRUE(Says(world.Make().refusals, "stage 'a': stage 'source': v: no such file"));
    EXPECT_TRUE(Says(world.Make().refusals, "an earlier run read u, digest "));
  }
  files.wanted = {{"?", true, {}}};
  EXPECT_TRUE(world.Make().nothing_to_do());
  // What is there and wrong is no source that is gone.
  files.missing = Status(Code::kDataLoss, "u: is not the file that it is pinned to");
  EXPECT_TRUE(Says(world.Make().refusals, "pinned to"));
  files = there;
  EXPECT_TRUE(world.Make().nothing_to_do());
}

TEST(PlanTest, AStageOfUnknownInputsIsNotUpToDate) {
  World world({"  words: { type: cut, input: docs }\n"});
  world.snapshot.files["source"].files.clear();
  world.snapshot.files["source"].missing = Status(Code::kNotFound, "u: no such file");
  EXPECT_TRUE(Says(world.Make().refusals, "u: no such file"));
}

TEST(PlanTest, AnArtifactAtItsOldPlaceIsCopied) {
  World world({Shards("a")});
  world.Run();
  world.snapshot.elsewhere["a"] = {"old/a", *world.snapshot.published["a"].manifest};
  world.snapshot.published.clear();
  const Plan plan = world.Make();
  ASSERT_EQ(plan.segments.size(), 1u);
  EXPECT_EQ(plan.segments[SegmentId(0)].copy_from, "old/a");
  world.Edit({Shards("a", ", shards: 3")});
  EXPECT_EQ(world.Make().segments[SegmentId(0)].copy_from, "") << "of another recipe";
}

TEST(PlanTest, SelectionTakesSegments) {
  const FileVersion file{Shards("a") + Shards("b")};
  const auto select = [](std::string Selection::*what, const std::string& stage) {
    Selection selection;
    selection.*what = stage;
    return selection;
  };
  World world(file);
  EXPECT_EQ(world.In(world.Make(select(&Selection::until, "docs")), State::kWanted), Lines{"text..docs"});
  EXPECT_EQ(world.In(world.Make(select(&Selection::until, "a")), State::kWanted),
            (Lines{"text..docs", "docs => a"}));
  EXPECT_EQ(world.In(world.Make(select(&Selection::from, "clean")), State::kWanted),
            (Lines{"text..docs", "docs => a", "docs => b"}));
  EXPECT_EQ(world.In(world.Make(select(&Selection::only, "clean")), State::kWanted), Lines{"text..docs"});
  EXPECT_TRUE(
      Says(world.Make(select(&Selection::only, "a")).refusals, "stage 'a' needs the partitions of 'docs'"));
  EXPECT_EQ(world.Run(select(&Selection::until, "docs")), Lines{"text..docs"});
  EXPECT_EQ(world.Run(select(&Selection::only, "a")), Lines{"docs => a"});
  EXPECT_EQ(world.Run(select(&Selection::from, "docs")), Lines{"docs => b"});
  EXPECT_EQ(world.Make(select(&Selection::only, "doc")).refusals,
            Lines{"no stage is called 'doc'; did you mean 'docs'?"});
}

TEST(PlanTest, RetryTakesWhatFailedAndWhatItNeeds) {
  World world({Shards("a") + Shards("b")});
  Selection retry;
  retry.failed = {"docs"};
  EXPECT_EQ(world.In(world.Make(retry), State::kWanted), Lines{"text..docs"}) << "also where others read it";
  retry.failed = {"b"};
  EXPECT_EQ(world.In(world.Make(retry), State::kWanted), (Lines{"text..docs", "docs => b"}));
}

}  // namespace
}  // namespace pipeline
