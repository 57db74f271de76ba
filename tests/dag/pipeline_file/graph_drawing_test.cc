#include <gtest/gtest.h>

#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/stage_type.h"
#include "tests/support/fake_pipeline.h"

namespace pipeline {
namespace {

class GraphDrawingTest : public testing::Test {
 protected:
  PipelineSpec spec_ =
      ParseFake(FakeFile("  source: { type: fetch, url: u }\n  end: { type: lines, input: source }\n  words: "
                         "{ type: cut, input: end }\n"
                         "  model: { type: learn, input: words, size: 5, out: secret }\n"));
  std::vector<Mistake> mistakes_;
  Graph graph_ = Graph::Build(spec_.stages, mistakes_);
};

TEST_F(GraphDrawingTest, Dot) {
  EXPECT_EQ(ToDot(graph_, "a \"b\" \\"), R"(digraph "a \"b\" \\" {
  rankdir=LR;
  node [shape=box];
  "source" [label="source\nfetch"];
  "end" [label="end\nlines"];
  "words" [label="words\ncut"];
  "model" [label="model\nlearn", shape=cylinder];
  "source" -> "end" [label="files"];
  "end" -> "words" [label="records: text"];
  "words" -> "model" [label="records: cuts, text"];
}
)");
}

TEST_F(GraphDrawingTest, MermaidKeepsItsReservedWordsOutOfIds) {
  EXPECT_EQ(ToMermaid(graph_, "it's"), R"(---
title: 'it''s'
---
flowchart LR
  s0["source<br/>fetch"]
  s1["end<br/>lines"]
  s2["words<br/>cut"]
  s3[("model<br/>learn")]
  s0 -->|"files"| s1
  s1 -->|"records: text"| s2
  s2 -->|"records: cuts, text"| s3
)");
}

TEST(GraphDrawingEscapeTest, NamesOfTypesCannotBreakOut) {
  StageType type;
  type.name = "a\"]<&#\\";
  type.takes = Flow::kNothing;
  std::vector<StageSpec> stages(1);
  stages[0].name = "x";
  stages[0].type = &type;
  std::vector<Mistake> mistakes;
  const Graph graph = Graph::Build(stages, mistakes);
  EXPECT_NE(ToDot(graph, "g").find(R"([label="x\na\"]<&#\\"];)"), std::string::npos);
  EXPECT_NE(ToMermaid(graph, "g").find(R"(s0["x<br/>a#quot;]#lt;#amp;#35;\"])"), std::string::npos);
}

}  // namespace
}  // namespace pipeline
