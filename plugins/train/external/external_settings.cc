#include "plugins/train/external/external_settings.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "plugins/train/external/placeholders.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

constexpr std::array<std::string_view, 6> kOwn = {"command", "recognise", "success",
                                                  "fatal",   "silence",   "settle"};
constexpr std::array<std::string_view, 3> kRecipe = {"command", "recognise", "success"};
constexpr int kMostCode = 255;
constexpr std::int64_t kMostSeconds = 365 * 24 * 3600;

Status Wrong(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

/// Keys that only the bundled trainer reads, with their defaults: the host fills these in.
const std::vector<std::pair<std::string_view, Json>>& BundledKeys() {
  static const std::vector<std::pair<std::string_view, Json>> kKeys = {{"config", Json(Json::Object{})},
                                                                       {"eval_every", 500},
                                                                       {"checkpoint_every", 500},
                                                                       {"keep_best", false},
                                                                       {"early_stop", Json(Json::Object{})},
                                                                       {"prompts", Json(Json::Array{})},
                                                                       {"export", true},
                                                                       {"processes", 1}};
  return kKeys;
}

Status OnlyThese(const Json& map, std::string_view key, const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view name : names) all += StrCat(all.empty() ? "" : ", ", name);
  if (!map.is_object()) return Wrong(StrCat(key, ": must be a map with members of these: ", all));
  for (const auto& [name, value] : map.AsObject()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return Wrong(StrCat(key, ".", name, ": there is no such member; there are ", all));
    if (!value.is_string() && name != "checkpoint" && name != "tensorboard")
      return Wrong(StrCat(key, ".", name, ": must be a text"));
  }
  return {};
}

Result<LinePattern> PatternAt(const Json& map, std::string_view key, std::string_view name) {
  Result<LinePattern> pattern = LinePattern::Compile(std::string(map[name].AsString()));
  if (pattern.ok()) return pattern;
  return Wrong(StrCat(key, ".", name, ": ", pattern.status().message()));
}

/// A name below {run_dir}, or "." for that directory.
Status CheckDirectory(std::string_view key, std::string_view directory) {
  if (directory == "." || StaysBelow(directory)) return {};
  return Wrong(StrCat(key, ".directory: must be a name below {run_dir}, and is \"", directory, "\""));
}

Status OnlyAndAll(const Json& map, std::string_view key, const std::vector<std::string_view>& names,
                  const std::vector<std::string_view>& required) {
  RETURN_IF_ERROR(OnlyThese(map, key, names));
  for (const std::string_view name : required)
    if (!map.Has(name)) return Wrong(StrCat(key, ".", name, ": is missing"));
  return CheckDirectory(key, map["directory"].AsString());
}

Result<CheckpointRule> ParseCheckpoint(const Json& map) {
  const std::string key = "recognise.checkpoint";
  RETURN_IF_ERROR(OnlyAndAll(map, key, {"directory", "step", "commit"}, {"directory", "step"}));
  ASSIGN_OR_RETURN(LinePattern step, PatternAt(map, key, "step"));
  CheckpointRule rule{std::string(map["directory"].AsString()), std::move(step),
                      std::string(map["commit"].AsString())};
  if (map.Has("commit") && !StaysBelow(rule.commit))
    return Wrong(StrCat(key, ".commit: must be a name inside a checkpoint, and is \"", rule.commit, "\""));
  return rule;
}

Status ParseRecognise(const Json& map, ExternalSettings& parsed) {
  if (map.is_null()) return {};
  RETURN_IF_ERROR(OnlyThese(map, "recognise", {"step", "loss", "tensorboard", "checkpoint"}));
  if (map.Has("step")) {
    ASSIGN_OR_RETURN(parsed.step, PatternAt(map, "recognise", "step"));
  }
  if (map.Has("loss")) {
    ASSIGN_OR_RETURN(parsed.loss, PatternAt(map, "recognise", "loss"));
  }
  if (parsed.loss && !parsed.step) return Wrong("recognise.loss: needs `step`, so that a loss has a step");
  if (map.Has("tensorboard")) {
    if (parsed.step)
      return Wrong("recognise.tensorboard: has steps and losses itself; leave out `step` and `loss`");
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

Result<std::chrono::seconds> SecondsAt(const Json& settings, std::string_view key, std::int64_t otherwise) {
  const std::int64_t seconds = settings[key].AsInt(otherwise);
  if (seconds < 1 || seconds > kMostSeconds) return Wrong(StrCat(key, ": must be 1 or more seconds"));
  return std::chrono::seconds(seconds);
}

}  // namespace

bool IsExternal(const Json& settings) { return settings["trainer"].AsString() == "external"; }

Status CheckExternal(const Json& settings) {
  if (IsExternal(settings)) return ParseExternal(settings).status();
  for (const std::string_view key : kOwn)
    if (!settings[key].is_null())
      return Wrong(StrCat(key, ": belongs to `trainer: external`, and this is `trainer: ",
                          settings["trainer"].AsString("bundled"), "`; leave it out"));
  return {};
}

Result<ExternalSettings> ParseExternal(const Json& settings) {
  for (const auto& [key, value] : BundledKeys())
    if (!settings[key].is_null() && settings[key] != value)
      return Wrong(
          StrCat(key, ": belongs to `trainer: bundled`, and this is `trainer: external`; leave it out"));
  ExternalSettings parsed;
  for (const Json& word : settings["command"].AsArray()) parsed.command.emplace_back(word.AsString());
  if (parsed.command.empty() || parsed.command.front().empty())
    return Wrong("command: `trainer: external` needs it, such as [python, train.py, --out, \"{run_dir}\"]");
  if (parsed.command.front().find_first_of("{}") != std::string::npos)
    return Wrong(StrCat("command: its first word names the program and has no placeholders, and is \"",
                        parsed.command.front(), "\""));
  for (const std::string& word : parsed.command) RETURN_IF_ERROR(CheckPlaceholders(word));
  RETURN_IF_ERROR(ParseRecognise(settings["recognise"], parsed));
  for (const Json& name : settings["success"].AsArray()) {
    parsed.success.emplace_back(name.AsString());
    if (!StaysBelow(parsed.success.back()))
      return Wrong(StrCat("success: must have names below {run_dir}, and has \"", name.AsString(), "\""));
  }
  if (parsed.success.empty() && !parsed.checkpoint)
    return Wrong("success: without names of files, `recognise` needs `checkpoint`, so that an end is known");
  for (const Json& code : settings["fatal"].AsArray()) {
    const std::optional<std::int64_t> number = WholeNumber(code.AsString());
    if (!number || *number < 1 || *number > kMostCode)
      return Wrong(StrCat("fatal: must have exit codes from 1 to 255, and has \"", code.AsString(), "\""));
    parsed.fatal.push_back(static_cast<int>(*number));
  }
  ASSIGN_OR_RETURN(parsed.silence, SecondsAt(settings, "silence", parsed.silence.count()));
  ASSIGN_OR_RETURN(parsed.settle, SecondsAt(settings, "settle", parsed.settle.count()));
  return parsed;
}

Json ExternalRecipe(const Json& settings) {
  Json recipe;
  for (const std::string_view key : kRecipe)
    if (!settings[key].is_null()) recipe[key] = settings[key];
  return recipe;
}

}  // namespace pipeline
