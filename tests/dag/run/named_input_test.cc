// What a stage takes beside its input: in the file, in the graph, in lineages.
#include <gtest/gtest.h>

#include "dag/books/lineage.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/stage_type.h"
#include "tests/support/fake_pipeline.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

/// Lines 4 to 6 of the file, then `stages` from line 7 on.
std::string File(std::string_view stages) {
  return FakeFile(
      "  source: { type: fetch, url: u }\n  text: { type: lines, input: source }\n"
      "  model: { type: study, input: text }\n" +
      std::string(stages));
}

struct Built {
  PipelineSpec spec;
  Graph graph;
};

std::unique_ptr<Built> Build(std::string_view stages) {
  auto built = std::make_unique<Built>();
  built->spec = ParseFake(File(stages));
  std::vector<Mistake> mistakes;
  built->graph = Graph::Build(built->spec.stages, mistakes);
  EXPECT_TRUE(mistakes.empty());
  return built;
}

const Node& NodeOf(const Built& built, std::string_view stage) {
  return built.graph[*built.graph.Find(stage)];
}

TEST(NamedInputTest, NamesAStageAsAKeyOrBelowInputs) {
  for (const std::string_view named_input : {"model: model", "inputs: { model: model }"}) {
    const auto built = Build("  used: { type: use, input: text, " + std::string(named_input) + " }\n");
    const Node& used = NodeOf(*built, "used");
    ASSERT_EQ(used.named_inputs.size(), 1u);
    EXPECT_EQ(used.named_inputs[0].named_input->name, "model");
    EXPECT_EQ(used.named_inputs[0].node, built->graph.Find("model"));
    EXPECT_EQ(NodeOf(*built, "model").named_input_readers, std::vector<NodeId>{*built->graph.Find("used")});
    EXPECT_TRUE(NodeOf(*built, "model").readers.empty());
    EXPECT_TRUE(built->graph.MadeFrom(*built->graph.Find("used"), *built->graph.Find("model")));
    EXPECT_FALSE(built->graph.MadeFrom(*built->graph.Find("model"), *built->graph.Find("used")));
  }
}

TEST(NamedInputTest, ReadersComeBehindWhatTheyTake) {
  const PipelineSpec spec = ParseFake(
      FakeFile("  used: { type: use, input: text, model: model }\n  model: { type: study, input: text }\n"
               "  text: { type: lines, input: source }\n  source: { type: fetch, url: u }\n"));
  std::vector<Mistake> mistakes;
  const Graph graph = Graph::Build(spec.stages, mistakes);
  EXPECT_LT(graph.Find("model"), graph.Find("used"));
}

TEST(NamedInputTest, APathIsAFileAndANameIsAStage) {
  const auto built = Build("  used: { type: use, input: text, model: ./my.model }\n");
  EXPECT_EQ(NodeOf(*built, "used").named_inputs[0].file, "./my.model");
  EXPECT_EQ(NodeOf(*built, "used").named_inputs[0].node, std::nullopt);
  EXPECT_EQ(
      MistakesIn(File("  used: { type: use, input: text, model: modell }\n")),
      Lines{"p.yaml:7:42: stage 'used' takes 'modell' as its model, and there is no such stage; did you "
            "mean 'model'?; a file is written ./modell"});
  EXPECT_EQ(MistakesIn(File("  used: { type: use, input: text, model: model, words: ./list }\n")),
            Lines{"p.yaml:7:56: stage 'used' takes './list' as its words, and there is no such stage"});
}

TEST(NamedInputTest, EveryMistakeHasItsPlace) {
  EXPECT_EQ(MistakesIn(File("  used: { type: use, input: text }\n")),
            Lines{"p.yaml:7:3: stage 'used' (use): missing key 'model': what was learnt"});
  EXPECT_EQ(MistakesIn(File("  used: { type: use, input: text, model: model, inputs: { model: model } }\n")),
            Lines{"p.yaml:7:66: stage 'used': 'inputs': 'model' is given twice"});
  EXPECT_EQ(MistakesIn(File("  used: { type: use, input: text, inputs: { model: model, wrds: model } }\n")),
            Lines{"p.yaml:7:59: stage 'used': 'inputs': unknown named input 'wrds'; did you mean 'words'?"});
  EXPECT_EQ(
      MistakesIn(File("  used: { type: use, input: text, model: text }\n")),
      Lines{"p.yaml:7:42: stage 'used' (use) takes a whole artifact as its model, but 'text' (lines) gives "
            "records"});
  EXPECT_EQ(MistakesIn(File("  used: { type: map, input: text, inputs: { model: model } }\n")),
            Lines{"p.yaml:7:35: stage 'used': unknown key 'inputs'; did you mean 'input'?"});
}

TEST(NamedInputTest, ACycleThroughANamedInputIsACycle) {
  EXPECT_EQ(MistakesIn(FakeFile("  source: { type: fetch, url: u }\n  text: { type: lines, input: source }\n"
                                "  used: { type: use, input: text, model: model }\n"
                                "  model: { type: study, input: used }\n")),
            Lines{"p.yaml:6:42: stages read each other in a circle: used reads model reads used"});
}

TEST(NamedInputTest, WhatIsLeftOutIsInheritedFromTheNearestStageBefore) {
  const auto built = Build(
      "  other: { type: study, input: text }\n  used: { type: use, input: text, model: model }\n"
      "  twice: { type: use, input: used, model: other }\n  plain: { type: map, input: twice }\n"
      "  heir: { type: again, input: plain }\n  own: { type: again, input: plain, model: model }\n");
  EXPECT_EQ(NodeOf(*built, "heir").named_inputs[0].node, built->graph.Find("other"));
  EXPECT_EQ(NodeOf(*built, "own").named_inputs[0].node, built->graph.Find("model"));
  EXPECT_EQ(MistakesIn(File("  heir: { type: again, input: text }\n")),
            Lines{"p.yaml:7:3: stage 'heir' (again): missing key 'model', and no stage before it has one"});
}

TEST(NamedInputTest, IsDrawn) {
  const auto built = Build("  used: { type: use, input: text, model: model }\n");
  EXPECT_NE(ToDot(built->graph, "p").find(R"("model" -> "used" [label="model", style=dashed];)"),
            std::string::npos);
  EXPECT_NE(ToMermaid(built->graph, "p").find(R"(s2 -.->|"model"| s3)"), std::string::npos);
}

TEST(NamedInputTest, MetricsOfTheTypeAreKnown) {
  const auto built =
      Build("  used: { type: use, input: text, model: model, expect: { use_rate: [0, 0.5] } }\n");
  EXPECT_EQ(NodeOf(*built, "used").spec->expect[0].metric, "use_rate");
  EXPECT_EQ(
      MistakesIn(File("  used: { type: use, input: text, model: model, expect: { us_rate: [0, 1] } }\n")),
      Lines{"p.yaml:7:59: stage 'used': 'expect': unknown metric 'us_rate'; did you mean 'use_rate'?"});
}

LineageStage Stage(std::string name, std::string_view config, std::vector<LineageInput> named_inputs = {}) {
  LineageStage stage;
  stage.stage = name;
  stage.type = name;
  stage.version = 1;
  stage.config = *Json::Parse(config);
  stage.named_inputs = std::move(named_inputs);
  return stage;
}

/// text -> used, which takes model, made of text as well.
Lineage Example(std::string_view text, std::string_view model) {
  Lineage learnt = {Stage("text", text), Stage("model", model)};
  std::optional<Digest> recipe;
  for (LineageStage& stage : learnt) recipe = stage.recipe = RecipeOf(stage, recipe);
  return {Stage("text", text), Stage("used", "{}", {{"model", *recipe, learnt}})};
}

TEST(NamedInputLineageTest, DifferencesAreThoseOfTheStageThatMadeIt) {
  EXPECT_EQ(Compare(Example(R"({"a":1})", R"({"b":1})"), Example(R"({"a":1})", R"({"b":2})")),
            (std::vector<Difference>{{"model", "config.b", "1", "2", false}}));
  EXPECT_EQ(Compare(Example(R"({"a":1})", "{}"), Example(R"({"a":2})", "{}")),
            (std::vector<Difference>{{"text", "config.a", "1", "2", false}}))
      << "once, though both lines begin with it";
  Lineage without = Example("{}", "{}");
  without[1].named_inputs.clear();
  EXPECT_EQ(Compare(without, Example("{}", "{}")),
            (std::vector<Difference>{{"used", "port.model", "", "model", false}}));
  Lineage file = Example("{}", "{}");
  file[1].named_inputs[0] = {"model", DigestOf("file"), {}};
  EXPECT_EQ(Compare(Example("{}", "{}"), file),
            (std::vector<Difference>{{"used", "port.model", "model", DigestOf("file").ToHex(), false}}));
}

TEST(NamedInputLineageTest, JsonComesBack) {
  const Lineage lineage = Example(R"({"a":1})", "{}");
  const Result<Lineage> back = LineageFromJson(ToJson(lineage));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, lineage);
  Json broken = ToJson(lineage);
  Json stage = broken.AsArray()[1];
  stage["ports"] = Json::Array{Json(Json::Object{{"name", "model"}})};
  EXPECT_EQ(LineageFromJson(Json(Json::Array{stage})).status().message(),
            "lineage[0].ports[0].recipe: missing");
}

TEST(NamedInputLineageTest, TheNameOfANamedInputIsInTheRecipe) {
  const LineageStage a = Stage("x", "{}", {{"a", DigestOf("1"), {}}});
  const LineageStage b = Stage("x", "{}", {{"b", DigestOf("1"), {}}});
  EXPECT_NE(RecipeOf(a, std::nullopt), RecipeOf(b, std::nullopt));
  EXPECT_NE(RecipeOf(a, std::nullopt), RecipeOf(Stage("x", "{}"), std::nullopt));
}

}  // namespace
}  // namespace pipeline
