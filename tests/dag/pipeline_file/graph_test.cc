#include "dag/pipeline_file/graph.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "tests/support/fake_pipeline.h"
#include "tests/support/fake_stages.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

StageSpec Stage(std::string name, std::string_view type, std::string input = {}) {
  StageSpec spec;
  spec.name = std::move(name);
  spec.type = FakeRegistry().Find(type);
  spec.config = Json(Json::Object{});
  spec.input = std::move(input);
  return spec;
}

Lines MistakesOf(const std::vector<StageSpec>& stages) {
  std::vector<Mistake> mistakes;
  Graph::Build(stages, mistakes, &FakeRegistry());
  Lines lines;
  for (const Mistake& mistake : mistakes) lines.push_back(mistake.message);
  return lines;
}

Lines NamesOf(const Graph& graph, const std::vector<NodeId>& nodes) {
  Lines names;
  for (const NodeId node : nodes) names.push_back(graph[node].spec->name);
  return names;
}

TEST(GraphTest, InputsComeBeforeReadersAndElseTheFileDecides) {
  const std::vector<StageSpec> stages = {
      Stage("shards", "publish", "clean"), Stage("second", "fetch"), Stage("clean", "map", "text"),
      Stage("words", "cut", "text"),       Stage("first", "fetch"),  Stage("text", "lines", "first")};
  std::vector<Mistake> mistakes;
  const Graph graph = Graph::Build(stages, mistakes);
  EXPECT_TRUE(mistakes.empty());
  ASSERT_EQ(graph.nodes().size(), 6u);
  EXPECT_EQ(NamesOf(graph, graph.nodes().ids()),
            (Lines{"second", "first", "text", "clean", "shards", "words"}));
  EXPECT_EQ(graph.Find("text"), NodeId(2));
  EXPECT_EQ(graph.Find("tex"), std::nullopt);
  EXPECT_EQ(NamesOf(graph, graph[NodeId(2)].readers), (Lines{"clean", "words"}));
  EXPECT_EQ(graph[NodeId(2)].input, NodeId(1));
  EXPECT_EQ(graph[NodeId(0)].input, std::nullopt);
  EXPECT_EQ(NamesOf(graph, graph.Lineage(*graph.Find("shards"))),
            (Lines{"first", "text", "clean", "shards"}));
}

TEST(GraphTest, ColumnsAndSplitsAreCarriedAlong) {
  const PipelineSpec spec =
      ParseFake(FakeFile("  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n"
                         "  c: { type: divide, input: b, splits: { train: rest, validation: 0.1 } }\n  d: { "
                         "type: cut, input: c }\n"));
  std::vector<Mistake> mistakes;
  const Graph graph = Graph::Build(spec.stages, mistakes);
  ASSERT_EQ(graph.nodes().size(), 4u);
  EXPECT_TRUE(graph[NodeId(0)].out.columns.empty());
  EXPECT_EQ(graph[NodeId(1)].out.splits, (Lines{"train"}));
  EXPECT_EQ(graph[NodeId(2)].in, graph[NodeId(1)].out);
  EXPECT_EQ(graph[NodeId(3)].out.splits, (Lines{"train", "validation"}));
  EXPECT_EQ(graph[NodeId(3)].out.columns.size(), 3u);
}

TEST(GraphTest, AnUnknownInputIsNamed) {
  EXPECT_EQ(MistakesOf({Stage("source", "fetch"), Stage("text", "lines", "souce")}),
            (Lines{"stage 'text' reads 'souce', and there is no such stage; did you mean 'source'?"}));
}

TEST(GraphTest, EachCircleIsNamedOnceFromItsFirstStage) {
  EXPECT_EQ(MistakesOf({Stage("tail", "map", "b"), Stage("a", "map", "c"), Stage("b", "map", "a"),
                        Stage("c", "map", "b"), Stage("self", "map", "self")}),
            (Lines{"stages read each other in a circle: a reads c reads b reads a",
                   "stages read each other in a circle: self reads self"}));
}

TEST(GraphTest, FlowsThatDoNotFitAreExplained) {
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "map", "a")}),
            (Lines{"stage 'b' (map) reads records, but 'a' (fetch) gives files: put a lines stage between"}));
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "lines", "a"), Stage("c", "lines", "b")}),
            (Lines{"stage 'c' (lines) reads files, but 'b' (lines) gives records"}));
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "lines", "a"), Stage("c", "publish", "b"),
                        Stage("d", "map", "c")}),
            (Lines{"stage 'd' (map) reads records, but 'c' (publish) ends a pipeline and gives nothing"}));
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "fetch", "a")}),
            (Lines{"stage 'b' (fetch) begins a pipeline and reads nothing, but has the input 'a'"}));
}

/// Takes the records of several stages.
const StageType& BarrierType() {
  static const NamedInput named_input = {.name = "corpora", .takes = Flow::kRecords, .many = true};
  static const StageType type = [] {
    StageType made;
    made.name = "gather";
    made.takes = Flow::kNothing;
    made.named_inputs = {named_input};
    made.check_named_inputs = [](const Json&, const std::vector<std::string_view>& named_inputs) {
      return named_inputs.size() < 3
                 ? Status()
                 : Status(Code::kInvalidArgument, StrCat(named_inputs.size(), " are too many"));
    };
    return made;
  }();
  return type;
}

StageSpec BarrierOf(const std::vector<std::string>& stages) {
  StageSpec spec;
  spec.name = "all";
  spec.type = &BarrierType();
  spec.config = Json(Json::Object{});
  for (const std::string& stage : stages)
    spec.named_inputs.push_back({BarrierType().named_inputs.data(), stage, {}});
  return spec;
}

TEST(GraphTest, RecordsOfSeveralStagesAreNumberedAndGiveTheirColumns) {
  const std::vector<StageSpec> stages = {Stage("a", "fetch"), Stage("b", "lines", "a"),
                                         Stage("c", "lines", "a"), BarrierOf({"c", "b"}),
                                         Stage("d", "map", "all")};
  std::vector<Mistake> mistakes;
  const Graph graph = Graph::Build(stages, mistakes, &FakeRegistry());
  ASSERT_TRUE(mistakes.empty()) << mistakes[0].message;
  const Node& all = graph[*graph.Find("all")];
  ASSERT_EQ(all.named_inputs.size(), 2u);
  EXPECT_EQ(all.named_inputs[0].name, "corpora[0]");
  EXPECT_EQ(all.named_inputs[0].node, graph.Find("c"));
  EXPECT_EQ(all.named_inputs[1].name, "corpora[1]");
  EXPECT_EQ(all.out, graph[*graph.Find("b")].out);
  EXPECT_TRUE(graph.MadeFrom(*graph.Find("d"), *graph.Find("b")));
}

TEST(GraphTest, RecordsOfSeveralStagesMustBeAlike) {
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "lines", "a"), BarrierOf({"b", "a"})}),
            (Lines{"stage 'all' (gather) takes records as its corpora, but 'a' (fetch) gives files"}));
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "lines", "a"), BarrierOf({"b", "b", "b"})}),
            (Lines{"stage 'all' (gather): 3 are too many"}));
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "lines", "a"), Stage("c", "cut", "b"),
                        BarrierOf({"b", "c"})}),
            (Lines{"stage 'all' (gather) takes records with the same columns, splits and fields, but 'b' "
                   "(lines) gives "
                   "text; splits train and 'c' (cut) gives cuts, text; splits train"}));
}

/// Makes an artifact of the kind that its configuration says, and reads one that it only takes when it is
/// good.
const StageType& LinkType() {
  static const NamedInput named_input = {.name = "model", .or_file = true, .required = false};
  static const StageType type = [] {
    StageType made;
    made.name = "link";
    made.takes = Flow::kNothing;
    made.gives = Flow::kArtifact;
    made.named_inputs = {named_input};
    made.kind = JobKind{.promises = [](const Json& config, const Schema&) {
      Json facts;
      facts["kind"] = config["kind"];
      return facts;
    }};
    made.check_promised = [](const Json&, const Schema&, const Promise& promise) -> Status {
      if (promise.facts["kind"].AsString() == "good") return {};
      return Status(Code::kInvalidArgument, StrCat(promise.named_input, " of a ", promise.maker, " is ",
                                                   promise.facts["kind"].AsString("nothing known")));
    };
    return made;
  }();
  return type;
}

StageSpec LinkOf(std::string name, std::string_view kind, std::string model = {}) {
  StageSpec spec;
  spec.name = std::move(name);
  spec.type = &LinkType();
  spec.config["kind"] = kind;
  if (!model.empty()) spec.named_inputs.push_back({LinkType().named_inputs.data(), std::move(model), {}});
  return spec;
}

TEST(GraphTest, WhatAMakerPromisesIsJudgedByItsReaders) {
  EXPECT_EQ(MistakesOf({LinkOf("a", "good"), LinkOf("b", "bad", "a"), LinkOf("c", "good", "b")}),
            (Lines{"stage 'c' (link): model of a link is bad"}));
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "lines", "a"), Stage("c", "publish", "b"),
                        LinkOf("d", "good", "./a/file")}),
            Lines())
      << "a file promises nothing: it is there";
}

TEST(GraphTest, AMissingColumnNamesBothStages) {
  EXPECT_EQ(MistakesOf({Stage("a", "fetch"), Stage("b", "lines", "a"), Stage("c", "learn", "b")}),
            (Lines{"stage 'c' (learn) reads the column 'cuts', but 'b' (lines) gives only text"}));
}

TEST(GraphTest, AStageWithMistakesHidesNothingOfTheOthers) {
  std::vector<StageSpec> stages = {Stage("a", "fetch"), Stage("b", "lines", "a"), Stage("c", "map", "b"),
                                   Stage("d", "learn", "c"), Stage("e", "map", "d")};
  stages[2].config = Json();
  EXPECT_EQ(MistakesOf(stages),
            (Lines{"stage 'e' (map) reads records, but 'd' (learn) ends a pipeline and gives nothing"}));
  stages[2].type = nullptr;
  EXPECT_EQ(MistakesOf(stages).size(), 1u);
}

}  // namespace
}  // namespace pipeline
