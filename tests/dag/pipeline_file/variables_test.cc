#include <gtest/gtest.h>

#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"
#include "tests/support/fake_pipeline.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

/// A file whose only stage has this `url`; `head` are the lines for `vars` and `env`.
std::string FileWith(std::string_view head, std::string_view url) {
  return StrCat("pipe: 1\nname: fake\n", head, "stages:\n  a: { type: fetch, url: ", url, " }\n");
}

ParseOptions WithEnvironment(std::map<std::string, std::string> variables) {
  ParseOptions options;
  options.environment = [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return options;
}

std::string Url(std::string_view head, std::string_view url, const ParseOptions& options = {}) {
  const PipelineSpec spec = ParseFake(FileWith(head, url), options);
  return spec.stages.empty() ? "" : std::string(spec.stages[0].config["url"].AsString());
}

TEST(VariablesTest, StandInsideTextsAndUseEachOther) {
  EXPECT_EQ(Url("vars: { host: x.org, base: \"https://${host}\" }\n", "\"${base}/${host}.xz\""),
            "https://x.org/x.org.xz");
  EXPECT_EQ(Url("vars: { late: \"${early}\", early: e }\n", "\"${late}\""), "e");
  EXPECT_EQ(Url("vars: { base: b }\n", "'$${base} $ {base} ${base}'"), "${base} $ {base} b");
}

TEST(VariablesTest, AWholeValueTakesTheTypeOfItsKey) {
  const std::string text =
      "pipe: 1\nname: fake\nvars: { ratio: 0.25, strip: \"false\", part: 1MiB }\nstages:\n"
      "  a: { type: fetch, url: u }\n  b: { type: lines, input: a, partition: \"${part}\" }\n"
      "  c: { type: map, input: b, ratio: \"${ratio}\", strip: \"${strip}\" }\n";
  const PipelineSpec spec = ParseFake(text);
  ASSERT_EQ(spec.stages.size(), 3u);
  EXPECT_EQ(spec.stages[1].config["partition"].AsInt(), 1 << 20);
  EXPECT_EQ(spec.stages[2].config["ratio"].AsDouble(), 0.25);
  EXPECT_TRUE(spec.stages[2].config["strip"].is_bool());
}

TEST(VariablesTest, AValueOfTheWrongTypeIsShownAsWrittenAndAsItBecame) {
  const std::string text =
      "pipe: 1\nname: fake\nvars: { ratio: half }\nstages:\n"
      "  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n  c: { type: map, input: b, ratio: "
      "\"${ratio}\" }\n";
  EXPECT_EQ(MistakesIn(text),
            (Lines{"p.yaml:7:36: stage 'c': 'ratio' must be a number, and this is \"${ratio}\" (\"half\")"}));
}

TEST(VariablesTest, UnknownOnesAreReportedWhereTheyStand) {
  EXPECT_EQ(MistakesIn(FileWith("vars: { corpus: c }\n", "\"${corpsu}\" , size: \"${corpus}\"")),
            (Lines{"p.yaml:5:26: there is no variable 'corpsu'; did you mean 'corpus'?",
                   "p.yaml:5:46: stage 'a': 'size' must be a size, and this is \"${corpus}\" (\"c\"): not a "
                   "size; a size is a "
                   "number with or without a unit: 4096, 64MiB, 1.5GB"}));
  EXPECT_EQ(MistakesIn(FileWith("", "\"x${y\"")),
            (Lines{"p.yaml:4:26: '${' without '}'; '$${' stands for these two characters themselves"}));
}

TEST(VariablesTest, ACircleIsNamed) {
  EXPECT_EQ(MistakesIn(FileWith("vars:\n  a: \"${b}\"\n  b: \"${c}\"\n  c: \"x${a}\"\n", "\"${c}\"")),
            (Lines{"p.yaml:4:3: variables use each other in a circle: a -> b -> c -> a"}));
  EXPECT_EQ(MistakesIn(FileWith("vars: { a: \"${a}\" }\n", "u")),
            (Lines{"p.yaml:3:9: variables use each other in a circle: a -> a"}));
}

TEST(VariablesTest, MustBeAMapOfNamesToScalars) {
  EXPECT_EQ(MistakesIn(FileWith("vars: [a]\n", "u")),
            (Lines{"p.yaml:3:7: 'vars' must be a map of names to values, and this is a list"}));
  EXPECT_EQ(MistakesIn(FileWith("vars: { a: [1], B: 2, c: }\n", "\"${a}\"")),
            (Lines{"p.yaml:3:12: variable 'a' must be a text or a number, and this is a list",
                   "p.yaml:3:17: bad name of a variable: a name is at most 64 small letters, digits and '_', "
                   "and begins "
                   "with a letter",
                   "p.yaml:3:23: variable 'c' must be a text or a number, and this is nothing"}));
}

TEST(VariablesTest, ThatDoubleThemselvesAreStopped) {
  std::string head = "vars:\n";
  for (int i = 0; i < 40; ++i) head += StrCat("  v", i, ": \"${v", i + 1, "}${v", i + 1, "}\"\n");
  head += "  v40: abcdefgh\n";
  EXPECT_EQ(MistakesIn(FileWith(head, "\"${v0}\"")),
            (Lines{"p.yaml:25:8: variables make the file larger than 4.00 MiB"}));
}

TEST(VariablesTest, AnEndlessChainIsStopped) {
  std::string head = "vars:\n";
  for (int i = 0; i < 3000; ++i) head += StrCat("  v", i, ": \"${v", i + 1, "}\"\n");
  head += "  v3000: x\n";
  const Lines mistakes = MistakesIn(FileWith(head, "\"${v0}\""));
  ASSERT_FALSE(mistakes.empty());
  EXPECT_EQ(mistakes[0], "p.yaml:103:8: variables use each other in a chain of more than 100");
}

TEST(VariablesTest, UnusedOnesAreAWarning) {
  const PipelineSpec spec = ParseFake(FileWith("vars: { corpus: c, nobody: n }\n", "\"${corpus}\""));
  EXPECT_EQ(spec.warnings, (Lines{"p.yaml:3:20: nothing uses the variable 'nobody'"}));
}

TEST(EnvironmentTest, IsReadOnlyWhereListed) {
  EXPECT_EQ(Url("env: [HOST]\nvars: { base: \"https://${env:HOST}\" }\n", "\"${base}/a\"",
                WithEnvironment({{"HOST", "h"}})),
            "https://h/a");
  EXPECT_EQ(MistakesIn(FileWith("env: [TOKEN]\n", "\"${env:TOKNE}\""), WithEnvironment({{"TOKNE", "t"}})),
            (Lines{"p.yaml:5:26: '${env:TOKNE}' is not listed under 'env'; did you mean 'TOKEN'?"}));
  EXPECT_EQ(MistakesIn(FileWith("", "\"${env:HOME}\""), WithEnvironment({{"HOME", "h"}})),
            (Lines{"p.yaml:4:26: '${env:HOME}' is not listed under 'env'; list there the variables "
                   "that the file reads"}));
}

TEST(EnvironmentTest, AMissingOneIsReportedOnce) {
  EXPECT_EQ(
      MistakesIn(FileWith("env: [TOKEN]\n", "\"${env:TOKEN}${env:TOKEN}\"")),
      (Lines{"p.yaml:5:26: the environment has no TOKEN, which the file reads; set it before the run"}));
  EXPECT_EQ(MistakesIn(FileWith("env: [TOKEN]\n", "\"${env:TOKEN}\""), WithEnvironment({{"TOKEN", "\xFF"}})),
            (Lines{"p.yaml:5:26: the value of TOKEN in the environment is not UTF-8 text"}));
}

TEST(EnvironmentTest, MustBeAListOfNames) {
  EXPECT_EQ(
      MistakesIn(FileWith("env: TOKEN\n", "u")),
      (Lines{"p.yaml:3:6: 'env' must be a list of names of environment variables, and this is \"TOKEN\""}));
  EXPECT_EQ(MistakesIn(FileWith("env: [A, A-B, A, {}]\n", "u")),
            (Lines{"p.yaml:3:10: 'env' lists names of environment variables, and this is \"A-B\"",
                   "p.yaml:3:15: 'env' lists A twice",
                   "p.yaml:3:18: 'env' lists names of environment variables, and this is a map"}));
}

TEST(EnvironmentTest, ItsValuesStayOutOfMessages) {
  const std::string text =
      "pipe: 1\nname: fake\nenv: [KEY]\nvars: { v: \"x${env:KEY}\" }\nstages:\n"
      "  a: { type: fetch, url: u, size: \"${env:KEY}\" }\n"
      "  b: { type: lines, input: a, documents: \"${v}\" }\n"
      "  c: { type: \"${env:KEY}\", input: \"${env:KEY}\", keep: \"${v}\" }\n";
  EXPECT_EQ(MistakesIn(text, WithEnvironment({{"KEY", "fetcher"}})),
            (Lines{"p.yaml:6:35: stage 'a': 'size' must be a size, and this is \"${env:KEY}\": not a size; a "
                   "size is a number "
                   "with or without a unit: 4096, 64MiB, 1.5GB",
                   "p.yaml:7:42: stage 'b': 'documents' must be blank_line or line, and this is \"${v}\"",
                   "p.yaml:8:14: stage 'c': there is no stage type \"${env:KEY}\"",
                   "p.yaml:8:35: stage 'c': 'input' names a stage, and cannot come from the environment",
                   "p.yaml:8:55: stage 'c': 'keep' must be true or false, and this is \"${v}\""}));
}

TEST(EnvironmentTest, ItsValuesStayOutOfWhatAStagesCheckSays) {
  Registry registry([] {
    StageType type;
    type.name = "gossip";
    type.keys = {{"word", ValueType::kString, "", ""}};
    type.takes = Flow::kNothing;
    type.check = [](const Json& config, Schema&) {
      return Status(Code::kInvalidArgument, StrCat("'", config["word"].AsString(), "' is no good"));
    };
    return std::vector<StageType>{type};
  }());
  const ParsedPipeline parsed =
      ParsePipeline("pipe: 1\nname: n\nenv: [KEY]\nstages: { a: { type: gossip, word: \"${env:KEY}\" } }\n",
                    "p.yaml", registry, WithEnvironment({{"KEY", "sesame"}}));
  ASSERT_EQ(parsed.mistakes.size(), 1u);
  EXPECT_EQ(parsed.mistakes[0].message, "stage 'a' (gossip): '${env:KEY}' is no good");
}

TEST(SetTest, ChangesAVariable) {
  ParseOptions options;
  options.set = {{"corpus", "b: #c"}, {"corpus", "../d e.xz"}};
  EXPECT_EQ(Url("vars: { corpus: c }\n", "\"${corpus}\"", options), "../d e.xz");
}

TEST(SetTest, ChangesOrAddsAKeyOfAStage) {
  const std::string text = FakeFile(
      "  a: { type: fetch, url: u }\n  b: { type: lines, input: a }\n  c: { type: map, input: b, form: nfc "
      "}\n");
  ParseOptions options;
  options.set = {{"stages.c.form", "nfkc"},
                 {"stages.c.drop", "[x, y]"},
                 {"stages.b.keep", "true"},
                 {"stages.c.expect", "{kept_ratio: [0.5, 1]}"}};
  const PipelineSpec spec = ParseFake(text, options);
  ASSERT_EQ(spec.stages.size(), 3u);
  EXPECT_EQ(spec.stages[2].config.Dump(), R"({"drop":["x","y"],"form":"nfkc","ratio":0.5,"strip":true})");
  EXPECT_TRUE(spec.stages[1].keep);
  ASSERT_EQ(spec.stages[2].expect.size(), 1u);
}

TEST(SetTest, ChangesOrAddsALimit) {
  const std::string stages = "stages: { a: { type: fetch, url: u } }\n";
  ParseOptions options;
  options.set = {{"limits.memory", "8GiB"}, {"limits.disk", "2GiB"}};
  for (const std::string limits : {"", "limits: {}\n", "limits:\n", "limits: { memory: 1GiB }\n"}) {
    const PipelineSpec spec = ParseFake("pipe: 1\nname: n\n" + limits + stages, options);
    EXPECT_EQ(spec.memory_limit, std::uint64_t{8} << 30) << limits;
    EXPECT_EQ(spec.disk_limit, std::uint64_t{2} << 30) << limits;
  }
  options.set = {{"limits.memory", "0"}, {"limits.dusk", "1GiB"}, {"limits.", "1GiB"}};
  EXPECT_EQ(MistakesIn("pipe: 1\nname: n\n" + stages, options),
            (Lines{"p.yaml: limits: unknown key 'dusk'; did you mean 'disk'? (given with --set)",
                   "p.yaml: limits: unknown key '' (given with --set)"}));
}

TEST(SetTest, WhatTheFileSaysOfAnotherValueIsForgotten) {
  const std::string text =
      "pipe: 1\nname: n\nvars: { corpus: c.xz, bytes: 15GB }\n"
      "stages: { a: { type: fetch, url: \"x/${corpus}\", size: \"${bytes}\" } }\n";
  const auto config = [&](std::vector<std::pair<std::string, std::string>> set) {
    ParseOptions options;
    options.set = std::move(set);
    return ParseFake(text, options).stages.at(0).config.Dump();
  };
  EXPECT_EQ(config({}), R"({"size":15000000000,"url":"x/c.xz"})");
  EXPECT_EQ(config({{"corpus", "d"}}), R"({"url":"x/d"})");
  EXPECT_EQ(config({{"stages.a.url", "d"}}), R"({"url":"d"})");
  EXPECT_EQ(config({{"corpus", "c.xz"}}), R"({"size":15000000000,"url":"x/c.xz"})");
  EXPECT_EQ(config({{"corpus", "d"}, {"bytes", "5"}}), R"({"size":5,"url":"x/d"})");
  EXPECT_EQ(config({{"corpus", "d"}, {"stages.a.size", "15GB"}}), R"({"size":15000000000,"url":"x/d"})");
  EXPECT_EQ(config({{"bytes", "5"}}), R"({"size":5,"url":"x/c.xz"})");
}

TEST(SetTest, ItsMistakesHaveNoPlaceInTheFile) {
  ParseOptions options;
  options.set = {{"validaton", "1"},          {"stages.sourc.url", "x"},    {"stages.source", "x"},
                 {"stages.source.url", "[a"}, {"stages.source.size", "-1"}, {"stages.source.ulr", "x"},
                 {"validation", "\xFF"}};
  EXPECT_EQ(
      MistakesIn("pipe: 1\nname: n\nvars: { validation: 1 }\nstages: { source: { type: fetch, url: "
                 "\"${validation}\" } }\n",
                 options),
      (Lines{"p.yaml: --set stages.sourc.url: there is no stage 'sourc'; did you mean 'source'?",
             "p.yaml: --set stages.source: write stages.STAGE.KEY=VALUE",
             "p.yaml: --set stages.source.url: not YAML: end of sequence flow not found",
             "p.yaml: --set validation: byte 0xFF is not UTF-8",
             "p.yaml: --set validaton: the file has no variable of that name; did you mean 'validation'?",
             "p.yaml: stage 'source': 'size' must be a size, and this is \"-1\": a size is never negative; a "
             "size is a "
             "number with or without a unit: 4096, 64MiB, 1.5GB (given with --set)",
             "p.yaml: stage 'source': unknown key 'ulr'; did you mean 'url'? (given with --set)"}));
}

}  // namespace
}  // namespace pipeline
