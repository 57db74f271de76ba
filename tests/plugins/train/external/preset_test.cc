// Presets, and the table of the flags of their programs: external/presets.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/str.h"
#include "plugins/train/description.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/line_pattern.h"
#include "plugins/train/external/preset_expansion.h"
#include "plugins/train/external/preset_flags.h"
#include "plugins/train/external/presets.h"
#include "plugins/train/input_check.h"
#include "plugins/train/train_job.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

const std::vector<std::string> kAll = {"data", "tokenizer", "data_set"};

/// The keys of a stage as the host fills them in.
Json Keys(std::string_view trainer) {
  Json keys;
  keys["trainer"] = trainer;
  keys["steps"] = 100;
  for (const auto& [key, value] : BundledKeys()) keys[key] = value;
  if (trainer == "levanter") keys["flags"]["levanter"]["data.tokenizer"] = "models/tokenizer";
  return keys;
}

Json Expanded(const Json& keys, const std::vector<std::string>& named_inputs = kAll) {
  const Result<Json> expanded = ExpandKeys(keys, named_inputs);
  EXPECT_TRUE(expanded.ok()) << expanded.status().message();
  return expanded.ok() ? *expanded : Json();
}

void Refused(const Json& keys, std::string_view why, const std::vector<std::string>& named_inputs = kAll) {
  const Result<Json> expanded = ExpandKeys(keys, named_inputs);
  ASSERT_FALSE(expanded.ok()) << why;
  EXPECT_EQ(expanded.status().code(), Code::kInvalidArgument);
  EXPECT_NE(expanded.status().message().find(why), std::string::npos) << expanded.status().message();
}

bool HasWord(const Json& expanded, std::string_view word) {
  const Json::Array& command = expanded["config"]["command"].AsArray();
  return std::any_of(command.begin(), command.end(), [&](const Json& one) { return one.AsString() == word; });
}

TEST(PresetTest, NamesAreTheChoicesOfTheKey) {
  const std::unique_ptr<const PluginDescription> description = Description();
  std::vector<std::string> choices;
  for (const ConfigKey& key : description->stages.front().keys)
    if (key.name == "trainer") choices.assign(key.choices.begin(), key.choices.end());
  std::vector<std::string> names = {"bundled", "external"};
  for (const std::string_view name : PresetNames()) names.emplace_back(name);
  EXPECT_EQ(choices, names);
}

TEST(PresetTest, ThePageSaysWhichRanAndWhyTheOthersDoNotRunHere) {
  const std::string page = ReadFile(StrCat(SourceDir(), "/plugins/train/external/presets.md"));
  const std::size_t table = page.find("| preset | not run here: |");
  ASSERT_NE(table, std::string::npos);
  for (const std::string_view name : PresetNames()) {
    const bool ran = page.find(StrCat("\n| `", name, "` itself | ")) != std::string::npos;
    EXPECT_NE(page.find(StrCat("\n| `", name, "` | "), table) != std::string::npos, ran) << name;
  }
}

/// An unknown flag, a value of another type or a missing required one would fail here.
TEST(PresetTest, EachCommandHoldsAgainstTheTable) {
  for (const std::string_view name : PresetNames()) {
    const Json expanded = Expanded(Keys(name));
    const Status status = CheckSettings(expanded["config"]);
    EXPECT_TRUE(status.ok()) << name << ": " << status.message();
    EXPECT_EQ(PresetNamed(name)["commit"].AsString().size(), 40u) << name;
    EXPECT_FALSE(PresetNamed(name)["packages"].AsArray().empty()) << name;
    EXPECT_GE(FlagsOf(name).size(), 18u) << name;
    EXPECT_FALSE(expanded["config"].Has("flags"));
    const Json::Array& inputs = expanded["unread"].AsArray();
    const bool rows = std::find(inputs.begin(), inputs.end(), Json("data_set")) != inputs.end();
    EXPECT_EQ(rows, PresetNamed(name)["reads"].is_null()) << name << " reads rows or a data set";
  }
}

TEST(PresetTest, EachDefaultIsOfTheTypeOfItsFlag) {
  std::size_t seen = 0;
  for (const std::string_view name : PresetNames())
    for (const PresetFlag& flag : FlagsOf(name)) {
      if (flag.fallback.empty() || flag.type == "fixed") continue;
      const Result<Json> value = Json::Parse(flag.fallback);
      ASSERT_TRUE(value.ok()) << name << " " << flag.name;
      const Result<std::string> word = FlagWord(name, flag.name, *value);
      EXPECT_TRUE(word.ok()) << name << ": " << word.status().message();
      ++seen;
    }
  EXPECT_GT(seen, 800u);
}

TEST(PresetTest, FlagsOfTheFileReplaceThoseOfThePreset) {
  Json keys = Keys("jestimator");
  keys["flags"]["jestimator"]["train_batch_size"] = 8;
  keys["flags"]["jestimator"]["module_config.model_config.vocab_size"] = "4000";
  keys["flags"]["jestimator"]["train_shuffle_buf"] = Json();
  keys["flags"]["bert"]["learning_rate"] = 1e-4;
  const Json expanded = Expanded(keys);
  EXPECT_TRUE(HasWord(expanded, "--train_batch_size=8"));
  EXPECT_TRUE(HasWord(expanded, "--module_config.model_config.vocab_size=4000"));
  EXPECT_TRUE(HasWord(expanded, "--max_train_steps={steps}"));
  EXPECT_TRUE(HasWord(expanded, "--module_config.opt_config.learning_rate=0.005"));
  for (const Json& word : expanded["config"]["command"].AsArray())
    EXPECT_EQ(word.AsString().find("train_shuffle_buf"), std::string::npos) << "null leaves a flag out";
  EXPECT_NE(expanded["config"], Expanded(Keys("jestimator"))["config"]) << "another recipe";
}

TEST(PresetTest, FormsOfWords) {
  EXPECT_TRUE(HasWord(Expanded(Keys("ttt")), "--do_train"));
  EXPECT_TRUE(HasWord(Expanded(Keys("maxtext")), "train_data_columns=[\"tokens\"]"));
  EXPECT_TRUE(HasWord(Expanded(Keys("kc-moe")), "--gin.MODEL_DIR=\"{run_dir}\""));
  EXPECT_TRUE(HasWord(Expanded(Keys("kc-moe")), "--gin_search_paths={checkout},{checkout}/flaxformer"));
  EXPECT_TRUE(HasWord(Expanded(Keys("levanter")), "--data.train_urls=[\"{data_set}/train.json\"]"));
  EXPECT_EQ(*FlagWord("ttt", "use_tpu", Json(false)), "");
  EXPECT_EQ(*FlagWord("bert", "use_tpu", Json(true)), "--use_tpu=true");
  EXPECT_EQ(*FlagWord("levanter", "trainer.axis_resources", *Json::Parse(R"({"a": "b"})")),
            "--trainer.axis_resources={{\"a\":\"b\"}}");
  EXPECT_EQ(*FlagWord("levanter", "trainer.checkpointer.keep", *Json::Parse(R"([{"every": 5}, "{steps}"])")),
            "--trainer.checkpointer.keep=[{{\"every\":5}},\"{steps}\"]");
  EXPECT_TRUE(HasWord(Expanded(Keys("levanter")), "--trainer.tracker={{\"type\":\"json_logger\"}}"));
}

TEST(PresetTest, WrongFlagsAreRefusedByName) {
  const auto flag = [](std::string_view preset, std::string_view name, Json value) {
    Json keys = Keys(preset);
    keys["flags"][preset][name] = std::move(value);
    return keys;
  };
  Refused(flag("bert", "learning_rat", 1),
          "flags.bert.learning_rat: the program has no such flag; did you mean "
          "learning_rate?");
  Refused(flag("bert", "max_seq_length", "long"), "flags.bert.max_seq_length: must be a whole number");
  Refused(flag("bert", "do_train", "yes"), "flags.bert.do_train: must be true or false");
  Refused(flag("bert", "input_file", Json()), "flags.bert.input_file: is missing, and the program needs it");
  Refused(flag("ttt", "do_eval", 1), "flags.ttt.do_eval: must be true or false");
  Refused(flag("jestimator", "mode", "both"), "flags.jestimator.mode: must be one of train|eval_once|");
  Refused(flag("transformer-lm-japanese", "config.vocab_path", "x"), "takes no value for it from a command");
  Json keys = Keys("levanter");
  keys.Remove("flags");
  Refused(keys, "flags.levanter.data.tokenizer: is missing, and the program needs it");
  keys = Keys("bundled");
  keys["flags"]["brt"]["x"] = 1;
  Refused(keys, "flags.brt: there is no such preset; there are transformer-lm-japanese, bert, ");
  keys = Keys("bundled");
  keys["flags"]["bert"]["x"] = 1;
  Refused(keys, "flags.bert.x: the program has no such flag");
  keys = Keys("external");
  keys["flags"]["bert"]["do_eval"] = true;
  Refused(keys, "flags: belongs to a preset");
  keys = Keys("bert");
  keys["flags"]["bert"]["do_eval"] = true;
  keys["command"].Append("x");
  Refused(keys, "flags.bert: `command` replaces the preset's whole command");
}

TEST(PresetTest, KeysOfTheFileReplaceThoseOfThePreset) {
  Json keys = Keys("bert");
  keys["success"].Append("graph.pbtxt");
  keys["checkout"] = "/sources/bert";
  const Json config = Expanded(keys)["config"];
  EXPECT_EQ(config["success"], keys["success"]);
  EXPECT_EQ(config["checkout"].AsString(), "/sources/bert");
  EXPECT_EQ(config["recognise"], PresetNamed("bert")["recognise"]);
  EXPECT_EQ(Expanded(Keys("bert"))["config"]["checkout"].AsString(), ".pipe/programs/bert");
  EXPECT_FALSE(Expanded(Keys("levanter"))["config"].Has("checkout"));  // a package has its program
}

TEST(PresetTest, KeysOfTheBundledTrainerAreDroppedWithANote) {
  Json keys = Keys("bert");
  keys["config"]["preset"] = "bert-base";
  keys["prompts"].Append("x");
  const Json expanded = Expanded(keys);
  EXPECT_EQ(expanded["config"]["config"], Json(Json::Object{}));
  EXPECT_EQ(expanded["notes"].AsArray().front().AsString(),
            "trainer bert does not read config, prompts, keys of the bundled trainer");
  EXPECT_EQ(expanded["config"], Expanded(Keys("bert"))["config"]) << "they are in no recipe";
}

/// A stage that may be switched gives the inputs and flags of several trainers.
TEST(PresetTest, OnlyTheInputsOfTheTrainerAreRead) {
  Json keys = Keys("bundled");
  const Json config = keys;
  keys["flags"]["bert"]["do_eval"] = true;
  const Json bundled = Expanded(keys);
  EXPECT_EQ(bundled["config"], config) << "the recipe of the bundled trainer stays the same";
  EXPECT_EQ(bundled["unread"], Json(Json::Array{Json("data_set")}));
  EXPECT_EQ(Expanded(Keys("bert"))["unread"], *Json::Parse(R"(["data", "tokenizer"])"));
  EXPECT_EQ(Expanded(Keys("transformer-lm-japanese"))["unread"], *Json::Parse(R"(["data"])"));
  EXPECT_EQ(Expanded(Keys("maxtext"))["unread"], *Json::Parse(R"(["tokenizer", "data_set"])"));
  Refused(Keys("bert"), "data_set: is missing; `trainer: bert` reads the artifact of a stage write_bert",
          {"data", "tokenizer"});
  Refused(Keys("bundled"), "data: is missing; `trainer: bundled` reads rows", {"tokenizer"});
  const Json begun = Expanded(Keys("bert"), {"data_set", "init_from"});
  EXPECT_EQ(begun["unread"], Json(Json::Array{Json("init_from")}));
  EXPECT_EQ(begun["notes"].AsArray().back().AsString(),
            "trainer bert does not read init_from: the program's own flag, in `flags.bert`, names the model "
            "that it begins with");
  EXPECT_EQ(Expanded(Keys("bundled"), {"data", "tokenizer", "init_from"})["unread"], Json(Json::Array{}));
  Json external = Keys("external");
  external["command"] = *Json::Parse(R"(["a", "{tfds_dir}"])");
  EXPECT_EQ(Expanded(external)["unread"], *Json::Parse(R"(["data", "tokenizer"])"));
  external["command"] = *Json::Parse(R"(["a"])");
  EXPECT_EQ(Expanded(external, {"data", "tokenizer"})["unread"], Json(Json::Array{}))
      << "as before there was a data set";
}

/// A program would drop such data without a word.
TEST(PresetTest, FlagsAgreeWithTheStageThatMakesTheData) {
  Json makers;
  makers["data"]["type"] = "write_packed";
  makers["data"]["config"] = *Json::Parse(R"({"seq_len": 2047, "encoding": "example"})");
  makers["data"]["splits"] = *Json::Parse(R"(["train", "validation"])");
  const Json maxtext = Expanded(Keys("maxtext"))["config"];
  EXPECT_TRUE(CheckMakers(maxtext, makers).ok()) << CheckMakers(maxtext, makers).message();
  makers["data"]["config"]["seq_len"] = 2048;
  EXPECT_EQ(CheckMakers(maxtext, makers).message(),
            "data: has seq_len: 2048, so max_target_length must be 2049, and is 2048: "
            "flags.maxtext.max_target_length");
  makers["data"]["config"] = *Json::Parse(R"({"seq_len": 2047, "encoding": "raw16"})");
  EXPECT_EQ(CheckMakers(maxtext, makers).message(),
            "data: rows in raw16, and `trainer: maxtext` reads `encoding: example`");
  Json made;
  made["data_set"]["type"] = "write_tfds";
  EXPECT_EQ(
      CheckMakers(Expanded(Keys("bert"))["config"], made).message(),
      "data_set: is made by a stage of type write_tfds, and `trainer: bert` reads artifacts of `write_bert`");
}

TEST(PresetTest, RecogniseTheLinesOfTheirPrograms) {
  const auto heard = [](std::string_view preset, std::string_view member, const std::string& line) {
    const std::string pattern(PresetNamed(preset)["recognise"][member].AsString());
    const Result<LinePattern> compiled = LinePattern::Compile(pattern);
    EXPECT_TRUE(compiled.ok()) << preset;
    return compiled.ok() ? compiled->Find(line).value_or("none") : "none";
  };
  const std::string bert = "INFO:tensorflow:loss = 9.8712e+00, step = 2500 (12.3 sec)";
  EXPECT_EQ(heard("bert", "step", bert), "2500");
  EXPECT_EQ(heard("bert", "loss", bert), "9.8712e+00");
  const std::string maxtext =
      "completed step: 41, seconds: 0.250, TFLOP/s/device: 1.0, Tokens/s/device: 9.1, total_weights: 4, "
      "loss: 7.315";
  EXPECT_EQ(heard("maxtext", "step", maxtext), "41");
  EXPECT_EQ(heard("maxtext", "loss", maxtext), "7.315");
  const std::string levanter =
      R"({"tracker": "json_logger", "event": "log", "step": 12, "metrics": {"train/loss": 3.25e+00}})";
  EXPECT_EQ(heard("levanter", "step", levanter), "12");
  EXPECT_EQ(heard("levanter", "loss", levanter), "3.25e+00");
  EXPECT_EQ(heard("ttt", "step", "INFO evaluators - epoch=3, eval_acc: 0.91"), "3");
}

}  // namespace
}  // namespace pipeline
