// Plans with a stage that reads its partitions in a way of its own, and with stages that vary.
#include <gtest/gtest.h>

#include "base/str.h"
#include "dag/plan/planner.h"
#include "dag/records/reader_stage.h"
#include "tests/support/fake_pipeline.h"
#include "tests/support/fake_stages.h"

namespace pipeline {
namespace {

using State = PlannedSegment::State;
using Lines = std::vector<std::string>;

Registry WithCommand() {
  std::vector<StageType> types = FakeRegistry().types();
  StageType command;
  command.name = "command";
  command.help = "Reads partitions through a command.";
  command.keys = {{"steady", ValueType::kBoolean, "false", "Gives the same each time.", Effect::kNone}};
  command.kind = ReaderKind{.make = [](const StageContext&) -> Result<std::unique_ptr<ReaderStage>> {
                              return Status(Code::kUnimplemented, "a fake");
                            },
                            .varies = [](const Json& config) { return !config["steady"].AsBool(); }};
  types.push_back(std::move(command));
  return Registry(std::move(types));
}

/// source -> text -> said (command) -> clean -> docs -> shards, two partitions, and its existing outputs by
/// stage.
class ReaderPlanTest : public testing::Test {
 protected:
  Plan Make(const std::string& said = "", const std::string& clean = "", const Selection& selection = {}) {
    const std::string file =
        FakeFile(StrCat("  source: { type: fetch, url: u }\n  text: { type: lines, input: source }\n"
                        "  said: { type: command, input: text",
                        said, " }\n  clean: { type: map, input: said", clean,
                        " }\n  docs: { type: divide, input: clean, splits: { train: rest } }\n"
                        "  shards: { type: publish, input: docs, name: n, out: o }\n"));
    ParsedPipeline parsed = ParsePipeline(file, "p.yaml", registry_, {});
    EXPECT_TRUE(parsed.spec) << parsed.mistakes.at(0).message;
    spec_ = std::move(*parsed.spec);
    std::vector<Mistake> mistakes;
    graph_ = Graph::Build(spec_.stages, mistakes);
    SourceFile corpus;
    corpus.input = {"/corpus/u", "u"};
    corpus.digest = DigestOf("u");
    snapshot_.files["source"].files = {corpus};
    stored_.outputs = [this](const OutputKeys& keys, const std::string&) -> Result<PartitionOutputs> {
      PartitionOutputs outputs;
      outputs.inputs().resize(keys.end_recipes.size());
      outputs.inputs()[0].end = InputEnd{2, 100, 2, {}};
      for (const std::uint32_t partition : existing_[keys.stage])
        outputs.inputs()[0].existing[partition] = {};
      return outputs;
    };
    stored_.at_location = [](const std::string&) -> Result<Snapshot::Published> {
      return Snapshot::Published{};
    };
    Result<Plan> plan = MakePlan(graph_, snapshot_, stored_, selection);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return std::move(*plan);
  }

  /// "text => said..shards" for what is wanted, with the number of its partition files that exist.
  Lines Wanted(const Plan& plan) const {
    Lines lines;
    for (const PlannedSegment& segment : plan.segments) {
      if (segment.state != State::kWanted) continue;
      std::string line = segment.upstream ? NameOf(plan.segments[*segment.upstream].node) + " => " : "";
      line += StrCat(NameOf(segment.chain.front()), "..", NameOf(segment.node));
      line += StrCat(" (", segment.outputs.inputs()[0].existing.size(), ")");
      lines.push_back(line);
    }
    return lines;
  }

  std::string NameOf(NodeId node) const { return graph_[node].spec->name; }

  const Registry registry_ = WithCommand();
  PipelineSpec spec_;
  Graph graph_;
  Snapshot snapshot_;
  StoredOutputs stored_;
  std::map<std::string, std::vector<std::uint32_t>> existing_;
};

TEST_F(ReaderPlanTest, WhatAReaderReadsIsMaterialisedAndBeginsASegment) {
  EXPECT_EQ(Wanted(Make()), (Lines{"text..text (0)", "text => said..shards (0)"}));
}

TEST_F(ReaderPlanTest, PartitionsThatExistAreNotMadeAgain) {
  existing_["text"] = {0, 1};
  EXPECT_EQ(Wanted(Make()), (Lines{"text => said..shards (0)"}));
}

TEST_F(ReaderPlanTest, SegmentThatHasAllItsPiecesMakesNothingToRead) {
  existing_["shards"] = {0, 1};
  const Plan plan = Make();
  EXPECT_EQ(Wanted(plan), Lines{"said..shards (2)"});
  ASSERT_EQ(plan.segments.size(), 1u);
  EXPECT_EQ(plan.segments[SegmentId(0)].upstream, std::nullopt);
  EXPECT_EQ(plan.segments[SegmentId(0)].files, std::nullopt);
}

TEST_F(ReaderPlanTest, PartitionMadeFromOneThatVariesAndIsGoneExistsNoMore) {
  existing_["text"] = {0, 1};
  existing_["said"] = {0};
  existing_["shards"] = {1};
  Plan plan = Make(", keep: true");
  ASSERT_EQ(plan.segments.size(), 3u);
  EXPECT_TRUE(plan.segments[SegmentId(1)].varies);
  EXPECT_TRUE(plan.segments[SegmentId(2)].outputs.inputs()[0].existing.empty());
  EXPECT_FALSE(plan.segments[SegmentId(0)].varies);
  plan = Make(", keep: true, steady: true");
  EXPECT_EQ(plan.segments[SegmentId(plan.segments.size() - 1)].outputs.inputs()[0].existing.size(), 1u);
}

TEST_F(ReaderPlanTest, ForceOfWhatVariesMakesEverythingBehindItAgain) {
  existing_["text"] = existing_["said"] = existing_["shards"] = {0, 1};
  Selection selection;
  selection.force = "said";
  const Plan plan = Make(", keep: true", "", selection);
  ASSERT_EQ(plan.segments.size(), 3u);
  EXPECT_TRUE(plan.segments[SegmentId(1)].outputs.inputs()[0].existing.empty());
  EXPECT_TRUE(plan.segments[SegmentId(2)].outputs.inputs()[0].existing.empty());
}

}  // namespace
}  // namespace pipeline
