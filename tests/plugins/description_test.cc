#include <gtest/gtest.h>

#include "base/str.h"
#include "plugins/description_reader.h"

namespace pipeline {
namespace {

constexpr std::string_view kWhole = R"({
  "stages": [{"name": "train", "version": 3, "kind": "job", "help": "Trains.",
    "ports": [{"name": "data", "help": "Rows."}, {"name": "words", "or_file": true, "required": false}],
    "keys": [{"name": "steps", "type": "integer", "effect": "continue", "help": "How many."},
             {"name": "trainer", "type": "choice", "default": "bundled", "choices": ["bundled", "none"], "help": "Which."},
             {"name": "config", "type": "map", "default": "{}", "help": "Its own."},
             {"name": "note", "type": "string", "default": null, "effect": "none", "help": "For people."},
             {"name": "label", "type": "string", "default": "", "help": "May be empty."}],
    "libraries": {"jax": "0.10"}}],
  "commands": [{"name": "sample", "help": "Writes text."}]})";

Status Refusal(std::string_view json) {
  const auto parsed = ParseDescription("p", json);
  return parsed.ok() ? Status() : parsed.status();
}

/// A description with one stage that has `member` besides what must be there.
std::string Stage(std::string_view member) {
  return StrCat(R"({"stages": [{"name": "s", "version": 1, "kind": "job", "help": "h", )", member, "}]}");
}
std::string Key(std::string_view members) {
  return Stage(StrCat(R"("keys": [{"name": "k", "help": "h", )", members, "}]"));
}

TEST(PluginDescriptionTest, BecomesAStageType) {
  const auto parsed = ParseDescription("train", kWhole);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const StageType* const type = (*parsed)->Find("train", "train");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ((*parsed)->Find("train", "tune"), nullptr);
  EXPECT_EQ(type->name, "train.train");
  EXPECT_EQ(type->version, 3u);
  EXPECT_EQ(type->takes, Flow::kNothing);
  EXPECT_EQ(type->gives, Flow::kArtifact);
  EXPECT_TRUE(type->publishes());
  ASSERT_EQ(type->named_inputs.size(), 2u);
  EXPECT_TRUE(type->named_inputs[0].required);
  EXPECT_FALSE(type->named_inputs[0].or_file);
  EXPECT_FALSE(type->named_inputs[1].required);
  EXPECT_TRUE(type->named_inputs[1].or_file);
  ASSERT_EQ(type->keys.size(), 5u);
  EXPECT_EQ(type->keys[0].effect, Effect::kContinue);
  EXPECT_EQ(type->keys[0].fallback, "");
  EXPECT_EQ(type->keys[1].choices.size(), 2u);
  EXPECT_EQ(type->keys[2].type, ValueType::kMap);
  EXPECT_EQ(type->keys[3].fallback, "~");
  EXPECT_EQ(type->keys[3].effect, Effect::kNone);
  EXPECT_EQ(type->keys[4].fallback, "\"\"");
  EXPECT_EQ(type->libraries.at("jax"), "0.10");
  ASSERT_EQ((*parsed)->commands.size(), 1u);
  EXPECT_EQ((*parsed)->commands[0].help, "Writes text.");
}

TEST(PluginDescriptionTest, StagesAndCommandsMayBeLeftOut) {
  EXPECT_TRUE(Refusal("{}").ok());
  EXPECT_TRUE(Refusal(Stage(R"("keys": [])")).ok());
}

TEST(PluginDescriptionTest, CommandsSayTheirWordsAndThoseBehindThem) {
  const auto parsed = ParseDescription(
      "p", R"({"commands": [{"name": "a", "help": "h", "commands": [{"name": "b", "help": "i", "words": [
               {"flags": ["-x", "--extra"], "value": "WORD", "choices": ["cpu", "tpu"], "help": "k", "repeats": true},
               {"value": "FILE", "help": "j", "required": true}]}]},
             {"name": "c", "help": "l"}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const CommandEntry& a = (*parsed)->commands[0];
  EXPECT_TRUE(a.has_words);
  ASSERT_EQ(a.commands.size(), 1u);
  const std::vector<CommandWord>& words = a.commands[0].words;
  ASSERT_EQ(words.size(), 2u);
  // Positional words come first, as help and completion show them.
  EXPECT_TRUE(words[0].flags.empty() && words[0].required && !words[0].repeats);
  EXPECT_EQ(words[1].flags, (std::vector<std::string>{"-x", "--extra"}));
  EXPECT_EQ(words[1].choices, (std::vector<std::string>{"cpu", "tpu"}));
  EXPECT_TRUE(words[1].repeats);
  EXPECT_FALSE((*parsed)->commands[1].has_words) << "whose --help is its own";
}

TEST(PluginDescriptionTest, PlaceOfTheArtifactIsOutUnlessTheRecipeNamesIt) {
  for (const auto& [member, of_recipe] :
       {std::pair("\"keys\": []", false), std::pair("\"place\": \"out\"", false),
        std::pair("\"place\": \"recipe\"", true)}) {
    const auto parsed = ParseDescription("p", Stage(member));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ((*parsed)->stages.at(0).job()->location_of_recipe, of_recipe) << member;
  }
  EXPECT_EQ(Refusal(Stage("\"place\": \"here\"")).message(),
            "stages[0].place: 'here' is none of out, recipe");
}

TEST(PluginDescriptionTest, ANamedInputMaySayThatItIsVerified) {
  const auto parsed = ParseDescription(
      "p",
      Stage(R"("ports": [{"name": "a", "verify": true}, {"name": "b", "verify": false}, {"name": "c"}])"));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  ASSERT_EQ((*parsed)->verified_inputs.size(), 1u);
  EXPECT_EQ((*parsed)->verified_inputs.at("p.s"), std::vector<std::string_view>{"a"});
  EXPECT_EQ(Refusal(Stage(R"("ports": [{"name": "a", "verify": "yes"}])")).message(),
            "stages[0].ports[0].verify: must be true or false");
}

TEST(PluginDescriptionTest, EachMistakeIsNamedWithItsPlace) {
  const std::vector<std::pair<std::string, std::string_view>> bad = {
      {"", "is not JSON"},
      {"[]", "the answer: must be an object"},
      {R"({"stagess": []})", "stagess: this version of pipe does not know it; did you mean 'stages'?"},
      {R"({"stages": {}})", "stages: must be an array"},
      {R"({"stages": [1]})", "stages[0]: must be an object"},
      {R"({"stages": [{"name": "Big", "version": 1, "kind": "job", "help": "h"}]})",
       "stages[0].name: a name is"},
      {R"({"stages": [{"name": "s", "kind": "job", "help": "h"}]})",
       "stages[0].version: must be a whole number"},
      {R"({"stages": [{"name": "s", "version": 1.5, "kind": "job", "help": "h"}]})", "stages[0].version"},
      {R"({"stages": [{"name": "s", "version": 1, "kind": "map", "help": "h"}]})",
       "stages[0].kind: must be 'job'"},
      {R"({"stages": [{"name": "s", "version": 1, "kind": "job"}]})", "stages[0].help: must be a text"},
      {Stage(R"("libraries": {"a": 1})"), "stages[0].libraries"},
      {Stage(R"("ports": [{"name": "out"}])"), "stages[0].ports[0].name: 'out' is taken"},
      {Stage(R"("ports": [{"name": "a"}, {"name": "a"}])"), "stages[0].ports[1].name: 'a' is taken"},
      {Stage(R"("ports": [{"name": "a", "required": 1}])"),
       "stages[0].ports[0].required: must be true or false"},
      {Key(R"("type": "colour")"), "stages[0].keys[0].type: 'colour' is none of string, integer"},
      {Key(R"("type": "string", "effect": "all")"), "stages[0].keys[0].effect: 'all' is none of"},
      {Key(R"("type": "integer", "default": "many")"),
       "stages[0].keys[0].default: the value must be a whole number"},
      {Key(R"("type": "integer", "default": 1)"),
       "stages[0].keys[0].default: must be a text, as it would be written"},
      {Key(R"("type": "choice")"), "stages[0].keys[0].choices: belong to the type 'choice'"},
      {Key(R"("type": "string", "choices": ["a"])"), "stages[0].keys[0].choices"},
      {Key(R"("type": "choice", "choices": ["a", 1])"), "stages[0].keys[0].choices: must be texts"},
      {Key(R"("type": "choice", "choices": ["a"], "default": "b")"),
       "stages[0].keys[0].default: the value must be a"},
      {R"({"commands": [{"name": "a", "help": "h"}, {"name": "a", "help": "h"}]})",
       "commands[1].name: 'a' is there twice"},
      {R"({"commands": [{"name": "a", "help": "h", "words": [{"help": "h"}]}]})",
       "commands[0].words[0].value: a word without flags needs one"},
      {R"({"commands": [{"name": "a", "help": "h", "words": [{"flags": ["x"], "help": "h"}]}]})",
       "commands[0].words[0].flags: 'x' does not begin with -"},
      {R"({"commands": [{"name": "a", "help": "h", "words": [{"flags": ["--x';rm"], "help": "h"}]}]})",
       "commands[0].words[0].flags: must be words without white space"},
      {R"({"commands": [{"name": "a", "help": "h", "words": [{"value": "A B", "help": "h"}]}]})",
       "commands[0].words[0].value: must be a word without white space"},
      {R"({"commands": [{"name": "a", "help": "h", "commands": [{"name": "b", "help": "h", "commands": []}]}]})",
       "commands[0].commands[0].commands: only one level of them is known"},
  };
  for (const auto& [json, what] : bad) {
    const Status status = Refusal(json);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << json;
    EXPECT_NE(status.message().find(what), std::string_view::npos) << json << "\n" << status.message();
  }
}

TEST(PluginDescriptionTest, StageNamesAreThereOnce) {
  const std::string_view stage = R"({"name": "s", "version": 1, "kind": "job", "help": "h"})";
  EXPECT_NE(Refusal(StrCat(R"({"stages": [)", stage, ",", stage, "]}")).message().find("stages[1].name"),
            std::string_view::npos);
}

}  // namespace
}  // namespace pipeline
