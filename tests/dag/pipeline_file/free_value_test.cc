
#include <gtest/gtest.h>

#include <vector>

#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/typed_value.h"
#include "tests/support/fake_stages.h"

namespace pipeline {
namespace {

std::string JsonOf(std::string_view yaml) {
  const ParsedYaml parsed = ParseYaml(yaml);
  EXPECT_TRUE(parsed.mistakes.empty());
  return parsed.root ? FreeValue(*parsed.root).Dump() : std::string();
}

TEST(FreeValueTest, PlainScalarsAreWhatTheyLookLike) {
  EXPECT_EQ(JsonOf("{ a: 1, b: -2.5, c: true, d: ~, e: ja-0.1b, f: 1e3, g: +7, h: nan, i: 1.0.0 }"),
            R"({"a":1,"b":-2.5,"c":true,"d":null,"e":"ja-0.1b","f":1000.0,"g":7,"h":"nan","i":"1.0.0"})");
}

TEST(FreeValueTest, WhatStandsInQuotesIsText) {
  EXPECT_EQ(JsonOf(R"([ "1", 'true', "" ])"), R"(["1","true",""])");
}

TEST(FreeValueTest, WholeNumbersBeyond64BitsStayExact) {
  EXPECT_EQ(JsonOf("[ 9223372036854775807, 9223372036854775808, +-1, + ]"),
            R"([9223372036854775807,"9223372036854775808","+-1","+"])");
}

TEST(FreeValueTest, MapsAndListsNest) {
  EXPECT_EQ(JsonOf("model: { layers: 2, heads: [1, { x: y }] }"),
            R"({"model":{"heads":[1,{"x":"y"}],"layers":2}})");
}

TEST(FreeValueTest, KeyOfTypeMapTakesMapsOnly) {
  const ConfigKey key = {"config", ValueType::kMap, "{}", ""};
  std::vector<Mistake> mistakes;
  EXPECT_EQ(ReadValue(key, *ParseYaml("{ preset: tiny }").root, "'config'", mistakes)->Dump(),
            R"({"preset":"tiny"})");
  EXPECT_TRUE(mistakes.empty());
  EXPECT_FALSE(ReadValue(key, *ParseYaml("tiny").root, "'config'", mistakes));
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_EQ(mistakes[0].message, "'config' must be a map, and this is \"tiny\"");
}

/// A file whose one stage has `keys`, read where the plugin `p` has the type `fetch`.
ParsedPipeline WithPlugin(std::string_view keys) {
  ParseOptions options;
  options.plugin_stage = [](const std::string& plugin, const std::string& type) -> Result<PluginStageType> {
    if (plugin == "p" && type == "fetch") return PluginStageType{FakeRegistry().Find("fetch")};
    return Status(Code::kNotFound, "no " + plugin + "." + type);
  };
  const std::string file = "pipe: 1\nname: x\nstages:\n  a: { " + std::string(keys) + " }\n";
  return ParsePipeline(file, "p.yaml", Registry({}), options);
}

TEST(PluginKeyTest, TypeComesFromThePluginThatTheStageNames) {
  const ParsedPipeline parsed = WithPlugin("type: fetch, plugin: p, url: u");
  ASSERT_TRUE(parsed.spec) << parsed.mistakes.at(0).message;
  EXPECT_EQ(parsed.spec->stages[0].type, FakeRegistry().Find("fetch"));
  EXPECT_EQ(parsed.spec->stages[0].config.Dump(), R"({"url":"u"})");
}

TEST(PluginKeyTest, WhatThePluginSaysStandsAtTheKeysPlace) {
  const ParsedPipeline parsed = WithPlugin("type: fetch, plugin: q");
  ASSERT_EQ(parsed.mistakes.size(), 1u);
  EXPECT_EQ(ToString(parsed.mistakes[0], "p.yaml"), "p.yaml:4:29: stage 'a': no q.fetch");
}

TEST(PluginKeyTest, WithoutTheKeyTheTypeIsOneOfOurs) {
  const ParsedPipeline parsed = WithPlugin("type: fetch, plugin: ~");
  ASSERT_EQ(parsed.mistakes.size(), 1u);
  EXPECT_EQ(parsed.mistakes[0].message, "stage 'a': there is no stage type \"fetch\"");
}

TEST(PluginKeyTest, WherePluginsCannotBeLoadedThisIsSaid) {
  const ParsedPipeline parsed = ParsePipeline("pipe: 1\nname: x\nstages:\n  a: { type: fetch, plugin: p }\n",
                                              "p.yaml", FakeRegistry(), ParseOptions());
  ASSERT_EQ(parsed.mistakes.size(), 1u);
  EXPECT_EQ(parsed.mistakes[0].message, "stage 'a': plugins cannot be loaded here");
}

}  // namespace
}  // namespace pipeline
