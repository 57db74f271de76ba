#include "dag/pipeline_file/reference.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "dag/pipeline_file/stage_type.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

/// One type with a key of each ValueType.
Registry SmallRegistry() {
  StageType type;
  type.name = "all_keys";
  type.help = "Has a key of each type.";
  type.keys = {
      {"string", ValueType::kString, "", "A text | with a bar."},
      {"integer", ValueType::kInteger, "5", "A number.", Effect::kContinue},
      {"number", ValueType::kNumber, "~", "A fraction."},
      {"boolean", ValueType::kBoolean, "true", "A switch."},
      {"bytes", ValueType::kBytes, "64MiB", "A size.", Effect::kNone},
      Choice("choice", "one", {"one", "two"}, "One of two."),
      {"strings", ValueType::kStrings, "[]", "Texts."},
      {"splits", ValueType::kSplits, "", "Splits."},
      {"range", ValueType::kFractionRange, "~", "Bounds."},
      {"shards", ValueType::kShards, "auto", "Shards."},
      {"shuffle", ValueType::kShuffle, "{seed: 0}", "An order."},
      {"map", ValueType::kMap, "{}", "Whatever there is."},
  };
  type.gives = Flow::kNothing;
  type.kind = SinkKind{};
  type.reads = {"text", "cuts"};
  StageType plain;
  plain.name = "plain";
  plain.help = "Has no keys.";
  plain.takes = Flow::kNothing;
  plain.gives = Flow::kFiles;
  plain.kind = FileListKind{};
  StageType ported;
  ported.name = "ported";
  ported.help = "Has ports and a metric.";
  ported.gives = Flow::kArtifact;
  ported.kind = SinkKind{};
  ported.named_inputs = {{"model", true, true, "A model."},
                         {"words", false, false, "Words."},
                         {"heir", false, true, "Handed down.", true}};
  ported.reasons = {Drop("dropped_short", "It was short."),
                    {"cut", "It was cut | in two.", Reason::Of::kDocuments},
                    Tally("ids", "Ids.")};
  ported.metrics = {{"rate", "How often.", [](const StageCounts&) { return 1.0; }}};
  StageType learnt;
  learnt.name = "learnt";
  learnt.help = "Needs no `out`.";
  learnt.gives = Flow::kArtifact;
  learnt.kind = JobKind{.out_optional = true};
  return Registry({type, plain, ported, learnt});
}

std::string Golden(std::string_view name) {
  return ReadFile(std::filesystem::path(SourceDir()) / "tests" / "golden" / name);
}

TEST(ReferenceTest, Markdown) {
  EXPECT_EQ(ReferenceMarkdown(SmallRegistry()), Golden("pipeline_reference.md"));
}

TEST(ReferenceTest, Schema) {
  EXPECT_EQ(PipelineSchema(SmallRegistry()).DumpPretty(), Golden("pipeline_schema.json"));
}

}  // namespace
}  // namespace pipeline
