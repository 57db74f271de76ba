#include "plugins/train/external/external_settings.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "plugins/train/external/placeholders.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

constexpr std::array<std::string_view, 13> kOwn = {
    "command", "recognise", "success", "variables", "files",      "fresh",     "directory",
    "shared",  "fatal",     "silence", "settle",    "first_step", "ends_early"};
constexpr std::array<std::string_view, 7> kRecipe = {"command", "recognise", "success",  "variables",
                                                     "files",   "fresh",     "directory"};
constexpr int kMostCode = 255;
constexpr std::int64_t kMostSeconds = 365 * 24 * 3600;

Status WrongSetting(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

Status OnlyThese(const Json& map, std::string_view key, const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view name : names) all += StrCat(all.empty() ? "" : ", ", name);
  if (!map.is_object()) return WrongSetting(StrCat(key, ": must be a map with members of these: ", all));
  for (const auto& [name, value] : map.AsObject()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return WrongSetting(StrCat(key, ".", name, ": there is no such member; there are ", all));
    if (!value.is_string() && name != "checkpoint" && name != "tensorboard")
      return WrongSetting(StrCat(key, ".", name, ": must be a text"));
  }
  return {};
}

Result<LinePattern> PatternAt(const Json& map, std::string_view key, std::string_view name,
                              Result<LinePattern> (*compile)(const std::string&) = &LinePattern::Compile) {
  Result<LinePattern> pattern = compile(std::string(map[name].AsString()));
  if (pattern.ok()) return pattern;
  return WrongSetting(StrCat(key, ".", name, ": ", pattern.status().message()));
}

/// A name below {run_dir}, or "." for that directory.
Status CheckDirectory(std::string_view key, std::string_view directory) {
  if (directory == "." || StaysBelow(directory)) return {};
  return WrongSetting(StrCat(key, ".directory: must be a name below {run_dir}, and is \"", directory, "\""));
}

Status OnlyAndAll(const Json& map, std::string_view key, const std::vector<std::string_view>& names,
                  const std::vector<std::string_view>& required) {
  RETURN_IF_ERROR(OnlyThese(map, key, names));
  for (const std::string_view name : required)
    if (!map.Has(name)) return WrongSetting(StrCat(key, ".", name, ": is missing"));
  return CheckDirectory(key, map["directory"].AsString());
}

bool IsPlainName(std::string_view name) {
  return StaysBelow(name) && name.find('/') == std::string_view::npos;
}

Result<CheckpointRule> ParseCheckpoint(const Json& map) {
  const std::string key = "recognise.checkpoint";
  RETURN_IF_ERROR(OnlyAndAll(map, key, {"directory", "step", "commit", "beside"}, {"directory", "step"}));
  ASSIGN_OR_RETURN(LinePattern step, PatternAt(map, key, "step"));
  CheckpointRule rule{std::string(map["directory"].AsString()), std::move(step),
                      std::string(map["commit"].AsString()), std::string(map["beside"].AsString())};
  if (map.Has("beside") && !IsPlainName(rule.beside))
    return WrongSetting(
        StrCat(key, ".beside: must be a name in the directory, and is \"", rule.beside, "\""));
  if (map.Has("commit") && !StaysBelow(rule.commit))
    return WrongSetting(
        StrCat(key, ".commit: must be a name inside a checkpoint, and is \"", rule.commit, "\""));
  return rule;
}

Status ParseRecognise(const Json& map, ExternalSettings& parsed) {
  if (map.is_null()) return {};
  RETURN_IF_ERROR(OnlyThese(map, "recognise", {"step", "loss", "tensorboard", "checkpoint"}));
  if (map.Has("step")) {
    ASSIGN_OR_RETURN(parsed.step, PatternAt(map, "recognise", "step"));
  }
  if (map.Has("loss")) {
    ASSIGN_OR_RETURN(parsed.loss, PatternAt(map, "recognise", "loss", &LinePattern::CompileNumber));
  }
  if (parsed.loss && !parsed.step)
    return WrongSetting("recognise.loss: needs `step`, so that a loss has a step");
  if (map.Has("tensorboard")) {
    if (parsed.step)
      return WrongSetting("recognise.tensorboard: has steps and losses itself; leave out `step` and `loss`");
    const Json& events = map["tensorboard"];
    const std::vector<std::string_view> names = {"directory", "loss"};
    RETURN_IF_ERROR(OnlyAndAll(events, "recognise.tensorboard", names, names));
    parsed.events =
        EventsRule{std::string(events["directory"].AsString()), std::string(events["loss"].AsString())};
  }
  if (map.Has("checkpoint")) {
    ASSIGN_OR_RETURN(parsed.checkpoint, ParseCheckpoint(map["checkpoint"]));
  }
  return {};
}

/// A map of texts with placeholders.
Result<std::map<std::string, std::string>> TextsAt(const Json& settings, std::string_view key) {
  std::map<std::string, std::string> texts;
  const Json& map = settings[key];
  if (!map.is_object() && !map.is_null())
    return WrongSetting(StrCat(key, ": must be a map of names to texts"));
  for (const auto& [name, value] : map.AsObject()) {
    if (!value.is_string()) return WrongSetting(StrCat(key, ".", name, ": must be a text"));
    RETURN_IF_ERROR(CheckPlaceholders(StrCat(key, ".", name), value.AsString()));
    texts.emplace(name, value.AsString());
  }
  return texts;
}

Status CheckBelow(std::string_view key, std::string_view name) {
  if (StaysBelow(name)) return {};
  return WrongSetting(StrCat(key, ": must have names below {run_dir}, and has \"", name, "\""));
}

Status ParseSurroundings(const Json& settings, ExternalSettings& parsed) {
  ASSIGN_OR_RETURN(parsed.variables, TextsAt(settings, "variables"));
  for (const auto& [name, value] : parsed.variables)
    if (name.empty() || name.find('=') != std::string::npos || name.starts_with("PIPE_"))
      return WrongSetting(
          StrCat("variables: a name has no `=` and does not begin with PIPE_, and this is \"", name, "\""));
  ASSIGN_OR_RETURN(parsed.files, TextsAt(settings, "files"));
  for (const auto& [name, from] : parsed.files) RETURN_IF_ERROR(CheckBelow("files", name));
  for (const Json& name : settings["fresh"].AsArray()) {
    parsed.fresh.emplace_back(name.AsString());
    RETURN_IF_ERROR(CheckBelow("fresh", name.AsString()));
  }
  parsed.shared = settings["shared"].AsBool();
  if (parsed.shared && !(parsed.files.empty() && parsed.fresh.empty()))
    return WrongSetting(StrCat("shared: with true, no host changes `{run_dir}` of all, and `",
                               parsed.files.empty() ? "fresh" : "files", "` would; leave one of them out"));
  parsed.directory = settings["directory"].AsString();
  return CheckPlaceholders("directory", parsed.directory);
}

Result<std::chrono::seconds> SecondsAt(const Json& settings, std::string_view key, std::int64_t otherwise) {
  const std::int64_t seconds = settings[key].AsInt(otherwise);
  if (seconds < 1 || seconds > kMostSeconds) return WrongSetting(StrCat(key, ": must be 1 or more seconds"));
  return std::chrono::seconds(seconds);
}

}  // namespace

bool IsExternal(const Json& settings) { return settings["trainer"].AsString("bundled") != "bundled"; }

const std::vector<std::pair<std::string_view, Json>>& BundledKeys() {
  static const std::vector<std::pair<std::string_view, Json>> kKeys = {{"config", Json(Json::Object{})},
                                                                       {"epochs", Json()},
                                                                       {"eval_every", 500},
                                                                       {"checkpoint_every", 500},
                                                                       {"keep_best", false},
                                                                       {"early_stop", Json(Json::Object{})},
                                                                       {"profile", Json(Json::Object{})},
                                                                       {"prompts", Json(Json::Array{})},
                                                                       {"export", true},
                                                                       {"processes", 1}};
  return kKeys;
}

Status CheckExternal(const Json& settings) {
  if (IsExternal(settings)) return ParseExternal(settings).status();
  for (const std::string_view key : kOwn)
    if (!settings[key].is_null())
      return WrongSetting(StrCat(key, ": belongs to `trainer: external`, and this is `trainer: ",
                                 settings["trainer"].AsString("bundled"), "`; leave it out"));
  return {};
}

Result<ExternalSettings> ParseExternal(const Json& settings) {
  for (const auto& [key, value] : BundledKeys())
    if (!settings[key].is_null() && settings[key] != value)
      return WrongSetting(StrCat(key, ": belongs to `trainer: bundled`, and this is `trainer: ",
                                 settings["trainer"].AsString(), "`; leave it out"));
  ExternalSettings parsed;
  for (const Json& word : settings["command"].AsArray()) parsed.command.emplace_back(word.AsString());
  if (parsed.command.empty() || parsed.command.front().empty())
    return WrongSetting(
        "command: `trainer: external` needs it, such as [python, train.py, --out, \"{run_dir}\"]");
  if (parsed.command.front().find_first_of("{}") != std::string::npos)
    return WrongSetting(StrCat("command: its first word names the program and has no placeholders, and is \"",
                               parsed.command.front(), "\""));
  for (const std::string& word : parsed.command) RETURN_IF_ERROR(CheckPlaceholders("command", word));
  RETURN_IF_ERROR(ParseSurroundings(settings, parsed));
  RETURN_IF_ERROR(ParseRecognise(settings["recognise"], parsed));
  for (const Json& name : settings["success"].AsArray()) {
    parsed.success.emplace_back(name.AsString());
    RETURN_IF_ERROR(CheckBelow("success", name.AsString()));
  }
  if (parsed.success.empty() && !parsed.checkpoint)
    return WrongSetting(
        "success: without names of files, `recognise` needs `checkpoint`, so that an end is known");
  for (const Json& code : settings["fatal"].AsArray()) {
    const std::optional<std::int64_t> number = WholeNumber(code.AsString());
    if (!number || *number < 1 || *number > kMostCode)
      return WrongSetting(
          StrCat("fatal: must have exit codes from 1 to 255, and has \"", code.AsString(), "\""));
    parsed.fatal.push_back(static_cast<int>(*number));
  }
  parsed.first_step = settings["first_step"].AsInt(1);
  if (parsed.first_step < 0 || parsed.first_step > 1)
    return WrongSetting(StrCat("first_step: must be 0 or 1, and is ", parsed.first_step));
  parsed.ends_early = settings["ends_early"].AsBool();
  if (parsed.ends_early && !parsed.SeesSteps())
    return WrongSetting("ends_early: without `recognise` nobody knows how far the program is; leave it out");
  ASSIGN_OR_RETURN(parsed.silence, SecondsAt(settings, "silence", parsed.silence.count()));
  ASSIGN_OR_RETURN(parsed.settle, SecondsAt(settings, "settle", parsed.settle.count()));
  return parsed;
}

std::vector<std::string> ExternalInputs(const Json& settings) {
  std::vector<std::string> words;
  for (const Json& word : settings["command"].AsArray()) words.emplace_back(word.AsString());
  for (const char* key : {"variables", "files"})
    for (const auto& [name, value] : settings[key].AsObject()) words.emplace_back(value.AsString());
  words.emplace_back(settings["directory"].AsString());
  std::set<std::string> inputs;
  for (const std::string& word : words)
    for (const std::string& name : PlaceholdersIn(word)) {
      if (name == "data" || name == "tokenizer") inputs.insert(name);
      if (name == "data_set" || name.starts_with("tfds_")) inputs.insert("data_set");
    }
  return {inputs.begin(), inputs.end()};
}

Json ExternalRecipe(const Json& settings) {
  Json recipe;
  for (const std::string_view key : kRecipe)
    if (!settings[key].is_null()) recipe[key] = settings[key];
  return recipe;
}

}  // namespace pipeline
