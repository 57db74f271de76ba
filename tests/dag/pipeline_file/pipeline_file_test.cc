#include "dag/pipeline_file/pipeline_file.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "tests/support/fake_pipeline.h"
#include "tests/support/fake_stages.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

/// Mistakes of a whole line of stages whose `map` stage ends with `keys`; its line is 6.
Lines MistakesOfMap(std::string_view keys) {
  return MistakesIn(
      FakeFile(StrCat("  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n"
                      "  c: { type: map, input: b, ",
                      keys, " }\n")));
}

Lines MistakesOfDivide(std::string_view splits) {
  return MistakesIn(
      FakeFile(StrCat("  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n"
                      "  c: { type: divide, input: b, splits: ",
                      splits, " }\n")));
}

Lines MistakesOfPublish(std::string_view keys) {
  return MistakesIn(
      FakeFile(StrCat("  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n"
                      "  c: { type: publish, input: b, name: n, out: o, ",
                      keys, " }\n")));
}

TEST(PipelineFileTest, AGoodFileIsReadWhole) {
  const PipelineSpec spec = ParseFake(
      "pipe: 1\nname: demo\nlimits: { memory: 8GiB, disk: 400GiB }\nstages:\n"
      "  source: { type: fetch, url: true, size: 1.5GB }\n"
      "  text: { type: lines, input: source, keep: true }\n"
      "  clean: { type: map, input: text, form: nfkc, drop: x, expect: { kept_ratio: [0.7, 1.0], bytes: "
      "[1MiB, 2GiB] } }\n"
      "  docs: { type: divide, input: clean, splits: { train: rest, validation: 0.25 } }\n"
      "  shards: { type: publish, input: docs, name: demo, version: 1.10, shards: 12, shuffle: { seed: 7 }, "
      "out: o }\n");
  EXPECT_EQ(spec.name, "demo");
  EXPECT_EQ(spec.file, "p.yaml");
  EXPECT_EQ(spec.memory_limit, std::uint64_t{8} << 30);
  EXPECT_EQ(spec.disk_limit, std::uint64_t{400} << 30);
  ASSERT_EQ(spec.stages.size(), 5u);
  EXPECT_EQ(spec.stages[0].config.Dump(), R"({"size":1500000000,"url":"true"})");
  EXPECT_EQ(spec.stages[0].input, "");
  EXPECT_EQ(spec.stages[1].config.Dump(), R"({"documents":"blank_line","partition":67108864})");
  EXPECT_TRUE(spec.stages[1].keep);
  EXPECT_EQ(spec.stages[1].at, (FilePosition{6, 3}));
  EXPECT_EQ(spec.stages[1].input_at, (FilePosition{6, 31}));
  EXPECT_EQ(spec.stages[2].config.Dump(), R"({"drop":["x"],"form":"nfkc","ratio":0.5,"strip":true})");
  ASSERT_EQ(spec.stages[2].expect.size(), 2u);
  EXPECT_EQ(spec.stages[2].expect[0].metric, "kept_ratio");
  EXPECT_EQ(spec.stages[2].expect[0].low, 0.7);
  EXPECT_EQ(spec.stages[2].expect[1].high, 2147483648.0);
  EXPECT_EQ(spec.stages[3].config.Dump(), R"({"splits":[["train",0.75],["validation",0.25]]})");
  EXPECT_EQ(spec.stages[4].config.Dump(),
            R"({"name":"demo","shards":12,"shuffle":{"compress_spills":false,"seed":7},"version":"1.10"})");
  EXPECT_EQ(spec.stages[4].out, "o");
  EXPECT_EQ(spec.stages[4].type, FakeRegistry().Find("publish"));
  EXPECT_TRUE(spec.warnings.empty());
}

TEST(PipelineFileTest, WithoutLimitsMemoryIsBoundedAndDiskIsNot) {
  const PipelineSpec spec = ParseFake(FakeFile("  a: { type: fetch, url: u }\n"));
  EXPECT_EQ(spec.memory_limit, std::uint64_t{4} << 30);
  EXPECT_FALSE(spec.disk_limit);
}

TEST(PipelineFileTest, AFileThatIsNoPipelineIsSaidToBeNone) {
  EXPECT_EQ(MistakesIn(""), (Lines{"p.yaml:1:1: the file is empty: a pipeline begins with 'pipe: 1'"}));
  EXPECT_EQ(MistakesIn("- a\n"),
            (Lines{"p.yaml:1:1: a pipeline file is a map with the keys 'pipe', 'name' and 'stages', "
                   "and this is a list"}));
  EXPECT_EQ(MistakesIn("{}"),
            (Lines{"p.yaml:1:1: missing key 'pipe': the version of the file's language: 1",
                   "p.yaml:1:1: missing key 'name': names the pipeline and its work directory: small "
                   "letters, digits and `_`",
                   "p.yaml:1:1: missing key 'stages': the stages by name, each with its `type` and keys"}));
}

TEST(PipelineFileTest, AnotherVersionIsTheOnlyMistake) {
  EXPECT_EQ(MistakesIn("pipe: 2\nnaem: x\nflow: 3\n"),
            (Lines{"p.yaml:1:7: the file is written for version 2, and this program reads version 1"}));
  EXPECT_EQ(
      MistakesIn("pipe: one\nname: x\nstages: { a: { type: fetch, url: u } }\n"),
      (Lines{"p.yaml:1:7: 'pipe', the version of the file, must be a whole number, and this is \"one\""}));
}

TEST(PipelineFileTest, TopLevelKeysAndTheNameAreChecked) {
  EXPECT_EQ(MistakesIn("pipe: 1\nname: My Corpus\nvar: {}\nstagess: {}\n"),
            (Lines{"p.yaml:1:1: missing key 'stages': the stages by name, each with its `type` and keys",
                   "p.yaml:2:7: 'name' cannot be \"My Corpus\": a name is at most 64 small letters, digits "
                   "and '_', and "
                   "begins with a letter",
                   "p.yaml:3:1: unknown key 'var'; did you mean 'vars'?",
                   "p.yaml:4:1: unknown key 'stagess'; did you mean 'stages'?"}));
}

TEST(PipelineFileTest, LimitsAreSizesAboveZero) {
  EXPECT_EQ(MistakesIn("pipe: 1\nname: n\nlimits: { memory: 0, dsk: 3, disk: -1 }\nstages: { a: { type: "
                       "fetch, url: u } }\n"),
            (Lines{"p.yaml:3:22: limits: unknown key 'dsk'; did you mean 'disk'?",
                   "p.yaml:3:36: limits: 'disk' must be a size, and this is \"-1\": a size is never "
                   "negative; a size is a "
                   "number with or without a unit: 4096, 64MiB, 1.5GB"}));
  EXPECT_EQ(MistakesIn("pipe: 1\nname: n\nlimits: { memory: 0 }\nstages: { a: { type: fetch, url: u } }\n"),
            (Lines{"p.yaml:3:19: limits: 'memory' must be above 0"}));
  EXPECT_EQ(MistakesIn("pipe: 1\nname: n\nlimits: 8GiB\nstages: { a: { type: fetch, url: u } }\n"),
            (Lines{"p.yaml:3:9: 'limits' must be a map, and this is \"8GiB\""}));
}

TEST(PipelineFileTest, StagesAreAMapOfMaps) {
  EXPECT_EQ(
      MistakesIn("pipe: 1\nname: n\nstages:\n"),
      (Lines{"p.yaml:3:1: 'stages' is empty: a pipeline has at least one stage; the lines of its stages are "
             "indented below it"}));
  EXPECT_EQ(
      MistakesIn("pipe: 1\nname: n\nstages:\n  a:\n  type: fetch\n  url: u\n"),
      (Lines{"p.yaml:5:9: 'type' stands where the names of stages do; indent the keys of a stage below its "
             "name"}));
  EXPECT_EQ(MistakesIn("pipe: 1\nname: n\nstages: [a]\n"),
            (Lines{"p.yaml:3:9: 'stages' must be a map of names to stages, and this is a list"}));
  EXPECT_EQ(MistakesIn(FakeFile("  a: fetch\n  B: { type: fetch, url: u }\n  c:\n  a: {}\n")),
            (Lines{"p.yaml:4:6: stage 'a' must be a map with a 'type', and this is \"fetch\"",
                   "p.yaml:5:3: bad name of a stage: a name is at most 64 small letters, digits and '_', and "
                   "begins with a "
                   "letter",
                   "p.yaml:6:3: stage 'c' must be a map with a 'type', and this is nothing",
                   "p.yaml:7:3: duplicate key \"a\": it stands on line 4 already"}));
}

TEST(PipelineFileTest, TypesAndTheirKeysAreChecked) {
  EXPECT_EQ(MistakesIn(FakeFile(
                "  a: { type: fech }\n  b: { url: u }\n  c: { type: fetch, ulr: u }\n  d: { type: [x] }\n")),
            (Lines{"p.yaml:4:14: stage 'a': there is no stage type \"fech\"; did you mean 'fetch'?",
                   "p.yaml:5:3: stage 'b': missing key 'type': the work that the stage does",
                   "p.yaml:6:3: stage 'c': missing key 'url': where the file is",
                   "p.yaml:6:21: stage 'c': unknown key 'ulr'; did you mean 'url'?",
                   "p.yaml:7:14: stage 'd': 'type' must be a text, and this is a list"}));
}

TEST(PipelineFileTest, ScalarsAreTypedByTheirKey) {
  EXPECT_EQ(MistakesOfMap("form: nfd"), (Lines{"p.yaml:6:35: stage 'c': 'form' must be none, nfc or nfkc, "
                                               "and this is \"nfd\"; did you mean 'nfc'?"}));
  EXPECT_EQ(MistakesOfMap("strip: yes"),
            (Lines{"p.yaml:6:36: stage 'c': 'strip' must be true or false, and this is \"yes\""}));
  EXPECT_EQ(MistakesOfMap("strip: \"true\""),
            (Lines{"p.yaml:6:36: stage 'c': 'strip' must be true or false, and this is the "
                   "text \"true\": leave out the quotes"}));
  EXPECT_EQ(MistakesOfMap("ratio: \"1,5\""),
            (Lines{"p.yaml:6:36: stage 'c': 'ratio' must be a number, and this is the "
                   "text \"1,5\": leave out the quotes"}));
  EXPECT_EQ(MistakesOfMap("ratio: .nan"),
            (Lines{"p.yaml:6:36: stage 'c': 'ratio' must be a number, and this is \".nan\""}));
  EXPECT_EQ(MistakesOfMap("ratio: nan"),
            (Lines{"p.yaml:6:36: stage 'c': 'ratio' must be a number, and this is \"nan\""}));
  EXPECT_EQ(MistakesOfMap("ratio: 1e999"),
            (Lines{"p.yaml:6:36: stage 'c': 'ratio' must be a number, and this is \"1e999\""}));
  EXPECT_EQ(MistakesOfMap("ratio: ~"),
            (Lines{"p.yaml:6:29: stage 'c': 'ratio' must be a number, and this is nothing"}));
  EXPECT_EQ(MistakesOfMap("drop: {}"),
            (Lines{"p.yaml:6:35: stage 'c': 'drop' must be a text or a list of texts, and this is a map"}));
  EXPECT_EQ(MistakesOfMap("drop: [a, []]"),
            (Lines{"p.yaml:6:39: stage 'c': 'drop' must be a text, and this is a list"}));
  EXPECT_EQ(MistakesOfMap("keep: 1"),
            (Lines{"p.yaml:6:35: stage 'c': 'keep' must be true or false, and this is \"1\""}));
}

TEST(PipelineFileTest, ARangeHasTwoFractionsTheLowerFirst) {
  for (const std::string_view good : {"[0, 1]", "[0.5, 0.5]", "[1, 1]", "[.1, 1e-1]", "~"})
    EXPECT_EQ(MistakesOfMap(StrCat("share: ", good)), Lines{}) << good;
  const PipelineSpec spec =
      ParseFake(FakeFile("  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n"
                         "  c: { type: map, input: b, share: [0, 0.25] }\n"));
  EXPECT_EQ(spec.stages[2].config["share"].Dump(), "[0.0,0.25]");
  const std::string what = "stage 'c': 'share' must be [low, high], two fractions from 0 to 1, and this is ";
  EXPECT_EQ(MistakesOfMap("share: 0.5"), (Lines{"p.yaml:6:36: " + what + "\"0.5\""}));
  EXPECT_EQ(MistakesOfMap("share: { low: 0 }"), (Lines{"p.yaml:6:36: " + what + "a map"}));
  EXPECT_EQ(MistakesOfMap("share: [0.5]"), (Lines{"p.yaml:6:36: " + what + "a list of 1"}));
  EXPECT_EQ(MistakesOfMap("share: [0, 50]"), (Lines{"p.yaml:6:40: " + what + "\"50\""}));
  EXPECT_EQ(MistakesOfMap("share: [-0.1, 50]"), (Lines{"p.yaml:6:37: " + what + "\"-0.1\""}));
  EXPECT_EQ(MistakesOfMap("share: [a, []]"),
            (Lines{"p.yaml:6:37: stage 'c': 'share' must be a fraction, and this is \"a\"",
                   "p.yaml:6:40: stage 'c': 'share' must be a fraction, and this is a list"}));
  EXPECT_EQ(
      MistakesOfMap("share: [0.7, 0.3]"),
      (Lines{"p.yaml:6:36: stage 'c': 'share' must have the lower bound first: \"0.7\" is above \"0.3\""}));
}

TEST(PipelineFileTest, WhatATypeChecksItselfIsShownAtTheStage) {
  EXPECT_EQ(MistakesOfMap("ratio: 2"), (Lines{"p.yaml:6:3: stage 'c' (map): 'ratio' must be at most 1"}));
}

TEST(PipelineFileTest, SplitsAddUpToOne) {
  EXPECT_EQ(MistakesOfDivide("{ a: 0.7, b: 0.2, c: 0.1 }"), Lines{});
  EXPECT_EQ(MistakesOfDivide("{ a: 0.7, b: 0.4 }"),
            (Lines{"p.yaml:6:40: stage 'c': 'splits' has fractions that add up to more than 1"}));
  EXPECT_EQ(MistakesOfDivide("{ a: 0.7, b: 0.2 }"),
            (Lines{"p.yaml:6:40: stage 'c': 'splits' has fractions that add up to less than 1: give one "
                   "split 'rest'"}));
  EXPECT_EQ(MistakesOfDivide("{ a: 1, b: rest }"),
            (Lines{"p.yaml:6:40: stage 'c': 'splits' has fractions that leave nothing for 'rest'"}));
  EXPECT_EQ(MistakesOfDivide("{ a: rest, b: rest }"),
            (Lines{"p.yaml:6:54: stage 'c': 'splits' has 'rest' twice"}));
  EXPECT_EQ(MistakesOfDivide("{ a: rest, b: 0 }"), Lines{});
  EXPECT_EQ(MistakesOfDivide("{ a: 0 }"),
            (Lines{"p.yaml:6:40: stage 'c': 'splits' has fractions that add up to less than 1: give one "
                   "split 'rest'"}));
  EXPECT_EQ(MistakesOfDivide("{}"), (Lines{"p.yaml:6:40: stage 'c': 'splits' names no split"}));
  EXPECT_EQ(
      MistakesOfDivide("0.5"),
      (Lines{"p.yaml:6:40: stage 'c': 'splits' must be a map of names to fractions, and this is \"0.5\""}));
  EXPECT_EQ(
      MistakesOfDivide("{ A: 2, b: most, c: -1 }"),
      (Lines{
          "p.yaml:6:42: stage 'c': 'splits' has a split with a bad name: a name is at most 64 small letters, "
          "digits "
          "and '_', and begins with a letter",
          "p.yaml:6:45: stage 'c': 'splits' must give 'A' a fraction from 0 to 1, and this is \"2\"",
          "p.yaml:6:51: stage 'c': 'splits' must be a fraction or 'rest' for each split, and this is "
          "\"most\"",
          "p.yaml:6:60: stage 'c': 'splits' must give 'c' a fraction from 0 to 1, and this is "
          "\"-1\""}));
}

TEST(PipelineFileTest, ShardsAndShuffleHaveTheirOwnForms) {
  EXPECT_EQ(MistakesOfPublish("shards: auto, shuffle: none"), Lines{});
  EXPECT_EQ(
      MistakesOfPublish("shards: 0"),
      (Lines{
          "p.yaml:6:58: stage 'c': 'shards' must be 'auto' or a number from 1 to 99999, and this is \"0\""}));
  EXPECT_EQ(MistakesOfPublish("shards: 100000"), (Lines{"p.yaml:6:58: stage 'c': 'shards' must be 'auto' or "
                                                        "a number from 1 to 99999, and this is \"100000\""}));
  EXPECT_EQ(MistakesOfPublish("shuffle: 5"),
            (Lines{"p.yaml:6:59: stage 'c': 'shuffle' must be 'none' or {seed: NUMBER}, and this is \"5\""}));
  EXPECT_EQ(MistakesOfPublish("shuffle: { seed: -1 }"),
            (Lines{"p.yaml:6:59: stage 'c': 'shuffle' must have a seed that is not negative"}));
  EXPECT_EQ(
      MistakesOfPublish("shuffle: { sed: 1.5, compress_spills: 1 }"),
      (Lines{
          "p.yaml:6:61: stage 'c': 'shuffle': unknown key 'sed'; did you mean 'seed'?",
          "p.yaml:6:88: stage 'c': 'shuffle': 'compress_spills' must be true or false, and this is \"1\""}));
}

TEST(PipelineFileTest, ExpectIsAMapOfBounds) {
  EXPECT_EQ(
      MistakesOfMap("expect: 3"),
      (Lines{"p.yaml:6:37: stage 'c': 'expect' must be a map of metrics to [low, high], and this is \"3\""}));
  EXPECT_EQ(MistakesOfMap("expect: { record: [0, 1] }"),
            (Lines{"p.yaml:6:39: stage 'c': 'expect': unknown metric 'record'; did you mean 'records'?"}));
  EXPECT_EQ(MistakesOfMap("expect: { records: 5 }"),
            (Lines{"p.yaml:6:48: stage 'c': 'expect': 'records' must be [low, high], and this is \"5\""}));
  EXPECT_EQ(MistakesOfMap("expect: { records: [5] }"),
            (Lines{"p.yaml:6:48: stage 'c': 'expect': 'records' must be [low, high], and this is a list of "
                   "another length"}));
  EXPECT_EQ(MistakesOfMap("expect: { records: [a, 5] }"),
            (Lines{"p.yaml:6:49: stage 'c': 'expect': 'records' must be a number, and this is \"a\""}));
  EXPECT_EQ(MistakesOfMap("expect: { kept_ratio: [1, 0.5] }"),
            (Lines{"p.yaml:6:51: stage 'c': 'expect': 'kept_ratio' must have bounds that are not negative, "
                   "the lower one first"}));
}

TEST(PipelineFileTest, InputStandsWhereAStageReads) {
  EXPECT_EQ(MistakesIn(FakeFile("  a: { type: fetch, url: u, input: b }\n  b: { type: lines }\n  c: { type: "
                                "lines, input: [a] }\n")),
            (Lines{"p.yaml:4:36: stage 'a' (fetch) begins a pipeline and takes no 'input'",
                   "p.yaml:5:3: stage 'b' (lines): missing key 'input': the stage that it reads",
                   "p.yaml:6:28: stage 'c': 'input' must be a text, and this is a list"}));
}

TEST(PipelineFileTest, OutStandsWhereAStagePublishes) {
  EXPECT_EQ(MistakesOfMap("out: o"), (Lines{"p.yaml:6:34: stage 'c' (map) publishes nothing and takes no "
                                            "'out'; 'keep: true' keeps its records"}));
  EXPECT_EQ(MistakesIn(FakeFile("  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n"
                                "  c: { type: publish, input: b, name: n }\n  d: { type: publish, input: b, "
                                "name: n, out: \"\" }\n")),
            (Lines{"p.yaml:6:3: stage 'c' (publish) publishes: missing key 'out', a directory or a URL such "
                   "as gs://bucket/path",
                   "p.yaml:7:47: stage 'd' (publish): 'out' is empty"}));
}

TEST(PipelineFileTest, NoTwoStagesPublishAtOnePlace) {
  const auto with = [](std::string_view first, std::string_view second) {
    return MistakesIn(FakeFile(StrCat("  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n",
                                      "  c: { type: publish, input: b, ", first,
                                      " }\n  d: { type: publish, input: b, ", second, " }\n")));
  };
  EXPECT_EQ(with("name: n, out: \"gs://b/x\"", "name: n, out: \"gs://b/x/\""),
            (Lines{"p.yaml:7:47: stage 'd' (publish) publishes at the same location as stage 'c': give it "
                   "another 'out'"}));
  EXPECT_EQ(with("name: n, out: o", "name: n, out: ./o//").size(), 1u);
  EXPECT_EQ(with("name: n, out: /o/./p", "name: n, out: /o/p").size(), 1u);
  EXPECT_EQ(with("name: n, out: \"gs://b\"", "name: m, out: \"gs://b\""), Lines{});
  EXPECT_EQ(with("name: n, out: o", "name: n, version: 2, out: o"), Lines{});
}

TEST(PipelineFileTest, EverythingWrongAtOnceIsReportedInOneGo) {
  const std::string text =
      "pipe: 1\n"
      "name: Demo\n"
      "limit: { memory: 1GiB }\n"
      "vars: { out: \"${base}\" }\n"
      "stages:\n"
      "  source: { type: fetch, url: [u] }\n"
      "  clean: { type: map, input: source, form: nfkcc, stripp: true }\n"
      "  text: { type: lines, input: sorce }\n"
      "  a: { type: map, input: b }\n"
      "  b: { type: map, input: a }\n"
      "  model: { type: learn, input: clean, size: big, out: \"${out}\" }\n"
      "  shards: { type: publsh, input: model }\n";
  EXPECT_EQ(
      MistakesIn(text),
      (Lines{"p.yaml:2:7: 'name' cannot be \"Demo\": a name is at most 64 small letters, digits and '_', and "
             "begins with "
             "a letter",
             "p.yaml:3:1: unknown key 'limit'; did you mean 'limits'?",
             "p.yaml:4:14: there is no variable 'base'; there are 'out'",
             "p.yaml:6:31: stage 'source': 'url' must be a text, and this is a list",
             "p.yaml:7:30: stage 'clean' (map) reads records, but 'source' (fetch) gives files: put a lines "
             "stage between",
             "p.yaml:7:44: stage 'clean': 'form' must be none, nfc or nfkc, and this is \"nfkcc\"; did you "
             "mean 'nfkc'?",
             "p.yaml:7:51: stage 'clean': unknown key 'stripp'; did you mean 'strip'?",
             "p.yaml:8:31: stage 'text' reads 'sorce', and there is no such stage; did you mean 'source'?",
             "p.yaml:9:26: stages read each other in a circle: a reads b reads a",
             "p.yaml:11:45: stage 'model': 'size' must be a whole number, and this is \"big\"",
             "p.yaml:12:19: stage 'shards': there is no stage type \"publsh\"; did you mean 'publish'?"}));
}

TEST(PipelineFileTest, AMistakeThatAnAliasRepeatsIsReportedOnce) {
  EXPECT_EQ(MistakesIn(FakeFile(
                "  a: &a { type: fetch, url: u, size: &s x }\n  b: { type: fetch, url: u, size: *s }\n")),
            (Lines{"p.yaml:4:38: stage 'a': 'size' must be a size, and this is \"x\": not a size; a size is "
                   "a number with or "
                   "without a unit: 4096, 64MiB, 1.5GB",
                   "p.yaml:4:38: stage 'b': 'size' must be a size, and this is \"x\": not a size; a size is "
                   "a number with or "
                   "without a unit: 4096, 64MiB, 1.5GB"}));
  EXPECT_EQ(MistakesIn(FakeFile("  a: &a { type: fech }\n  b: { type: fetch, url: u }\n")).size(), 1u);
}

}  // namespace
}  // namespace pipeline
