#include "spec/graph.h"

#include <gtest/gtest.h>

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

Lines NamesOf(const Graph& graph, const std::vector<int>& nodes) {
  Lines names;
  for (int node : nodes) names.push_back(graph.nodes()[static_cast<std::size_t>(node)].spec->name);
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
  EXPECT_EQ(NamesOf(graph, {0, 1, 2, 3, 4, 5}),
            (Lines{"second", "first", "text", "clean", "shards", "words"}));
  EXPECT_EQ(graph.Find("text"), 2);
  EXPECT_EQ(graph.Find("tex"), -1);
  EXPECT_EQ(NamesOf(graph, graph.nodes()[2].readers), (Lines{"clean", "words"}));
  EXPECT_EQ(graph.nodes()[2].input, 1);
  EXPECT_EQ(graph.nodes()[0].input, -1);
  EXPECT_EQ(NamesOf(graph, graph.Lineage(graph.Find("shards"))), (Lines{"first", "text", "clean", "shards"}));
}

TEST(GraphTest, ColumnsAndSplitsAreCarriedAlong) {
  const PipelineSpec spec =
      ParseFake(FakeFile("  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n"
                         "  c: { type: divide, input: b, splits: { train: rest, validation: 0.1 } }\n  d: { "
                         "type: cut, input: c }\n"));
  std::vector<Mistake> mistakes;
  const Graph graph = Graph::Build(spec.stages, mistakes);
  ASSERT_EQ(graph.nodes().size(), 4u);
  EXPECT_TRUE(graph.nodes()[0].out.columns.empty());
  EXPECT_EQ(graph.nodes()[1].out.splits, (Lines{"train"}));
  EXPECT_EQ(graph.nodes()[2].in, graph.nodes()[1].out);
  EXPECT_EQ(graph.nodes()[3].out.splits, (Lines{"train", "validation"}));
  EXPECT_EQ(graph.nodes()[3].out.columns.size(), 3u);
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
