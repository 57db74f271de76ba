#include "plugins/train/external/preset_expansion.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/preset_flags.h"
#include "plugins/train/external/presets.h"

namespace pipeline {

namespace {

/// Keys that a preset gives where the file does not.
constexpr std::array<std::string_view, 10> kGiven = {"recognise",  "success",   "fatal",     "variables",
                                                     "files",      "fresh",     "directory", "silence",
                                                     "first_step", "ends_early"};

Status WrongExpansion(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

bool Gives(const std::vector<std::string>& named_inputs, std::string_view name) {
  return std::find(named_inputs.begin(), named_inputs.end(), name) != named_inputs.end();
}

/// `flags` of the file, which has a map for each preset. The maps of presets that are not used are checked,
/// too.
Status CheckFlags(const Json& flags) {
  if (!flags.is_object() && !flags.is_null())
    return WrongExpansion(
        "flags: must be a map of presets to maps of flags, such as { bert: { learning_rate: 1e-4 } }");
  for (const auto& [preset, values] : flags.AsObject()) {
    const std::vector<std::string_view> names = PresetNames();
    if (std::find(names.begin(), names.end(), preset) == names.end()) {
      std::string all;
      for (const std::string_view name : names) all += StrCat(all.empty() ? "" : ", ", name);
      return WrongExpansion(StrCat("flags.", preset, ": there is no such preset; there are ", all));
    }
    if (!values.is_object())
      return WrongExpansion(StrCat("flags.", preset, ": must be a map of flags to values"));
    for (const auto& [name, value] : values.AsObject()) {
      if (value.is_null()) continue;
      if (const Result<std::string> word = FlagWord(preset, name, value); !word.ok())
        return WrongExpansion(StrCat("flags.", preset, ".", word.status().message()));
    }
  }
  return {};
}

/// The words of the program of `preset`, with its flags and those of the file, which replace them; null
/// leaves a flag out.
Result<Json> CommandOf(const Json& preset, const Json& own) {
  const std::string_view name = preset["name"].AsString();
  Json flags = preset["flags"];
  for (const auto& [flag, value] : own.AsObject()) {
    if (value.is_null())
      flags.Remove(flag);
    else
      flags[flag] = value;
  }
  for (const PresetFlag& flag : FlagsOf(name))
    if (flag.required && !flags.Has(flag.name))
      return WrongExpansion(StrCat("flags.", name, ".", flag.name, ": is missing, and the program needs it"));
  Json command = preset["program"];
  for (const auto& [flag, value] : flags.AsObject()) {
    ASSIGN_OR_RETURN(std::string word, FlagWord(name, flag, value));
    if (!word.empty()) command.Append(std::move(word));
  }
  return command;
}

/// Replaces the keys of the bundled trainer by their defaults; adds a note about those that differ.
void DropBundled(Json& config, std::string_view trainer, Json& notes) {
  std::string dropped;
  for (const auto& [key, value] : BundledKeys()) {
    if (!config.Has(key) || config[key] == value) continue;
    dropped += StrCat(dropped.empty() ? "" : ", ", key);
    config[key] = value;
  }
  if (!dropped.empty())
    notes.Append(StrCat("trainer ", trainer, " does not read ", dropped, ", keys of the bundled trainer"));
}

/// Adds to `unread` the named inputs that this program does not read, and a note about a model to begin with.
/// kInvalidArgument: it reads one that the file does not give.
Status ChooseInputs(const Json& config, const std::vector<std::string>& named_inputs, Json& unread,
                    Json& notes) {
  const std::string_view trainer = config["trainer"].AsString("bundled");
  const bool own_data = IsExternal(config) && Gives(named_inputs, "data_set");
  const std::vector<std::string> used = ExternalInputs(config);
  const bool preset = !PresetNamed(trainer).is_null();
  if (preset && Gives(named_inputs, "init_from")) {
    unread.Append("init_from");
    notes.Append(StrCat("trainer ", trainer, " does not read init_from: the program's own flag, in `flags.",
                        trainer, "`, names the model that it begins with"));
  } else if (IsExternal(config) && Gives(named_inputs, "init_from")) {
    return WrongExpansion("init_from: only `trainer: bundled` reads it; put the path into `command`");
  }
  for (const char* name : {"data", "tokenizer", "data_set"}) {
    const bool rows = std::string_view(name) != "data_set";
    const bool reads = preset || own_data ? Gives(used, name) : rows;
    if (!reads && Gives(named_inputs, name)) unread.Append(name);
    if (!reads || Gives(named_inputs, name)) continue;
    const std::string_view of = PresetNamed(trainer)["reads"].AsString();
    return WrongExpansion(
        StrCat(name, ": is missing; `trainer: ", trainer, "` reads ",
               rows ? (std::string_view(name) != "data" ? "the tokenizer"
                       : IsExternal(config)             ? "rows, as write_packed makes them"
                                                        : "rows, as write_packed or write_bert makes them")
                    : StrCat("the artifact of a stage", of.empty() ? "" : " ", of),
               ": inputs: { ", name, ": STAGE }"));
  }
  return {};
}

}  // namespace

Result<Json> ExpandKeys(const Json& settings, const std::vector<std::string>& named_inputs) {
  Json answer, notes{Json::Array{}}, unread{Json::Array{}};
  Json config = settings;
  const std::string trainer(settings["trainer"].AsString("bundled"));
  RETURN_IF_ERROR(CheckFlags(settings["flags"]));
  if (trainer == "external" && !settings["flags"].is_null())
    return WrongExpansion(
        "flags: belongs to a preset, and this is `trainer: external`; put them into `command`");
  if (const Json& preset = PresetNamed(trainer); !preset.is_null()) {
    DropBundled(config, trainer, notes);
    if (config.Has("command") && settings["flags"].Has(trainer))
      return WrongExpansion(
          StrCat("flags.", trainer, ": `command` replaces the preset's whole command; give one of both"));
    if (!config.Has("command")) {
      ASSIGN_OR_RETURN(config["command"], CommandOf(preset, settings["flags"][trainer]));
    }
    for (const std::string_view key : kGiven)
      if (!config.Has(key) && preset.Has(key)) config[key] = preset[key];
    const bool of_packages = preset.Dump().find("{checkout}") == std::string::npos;
    if (!config.Has("checkout") && !of_packages) config["checkout"] = StrCat(".pipe/programs/", trainer);
    notes.Append(CommandLine(config));
  }
  config.Remove("flags");  // they are in the command, or of another trainer
  RETURN_IF_ERROR(ChooseInputs(config, named_inputs, unread, notes));
  answer["config"] = std::move(config);
  answer["unread"] = std::move(unread);
  answer["notes"] = std::move(notes);
  return answer;
}

std::string CommandLine(const Json& settings) {
  const Json& preset = PresetNamed(settings["trainer"].AsString());
  std::string line = StrCat("trainer ", settings["trainer"].AsString());
  if (!preset.is_null())
    line += StrCat(", ", preset["repository"].AsString(), " at ", preset["commit"].AsString().substr(0, 7));
  line += ":";
  for (const Json& word : settings["command"].AsArray()) line += StrCat(" ", word.AsString());
  return line;
}

std::string HowToClone(const Json& settings, const std::string& directory) {
  const Json& preset = PresetNamed(settings["trainer"].AsString());
  if (preset.is_null()) return {};
  return StrCat("git clone --recurse-submodules https://github.com/", preset["repository"].AsString(), " ",
                directory, " && git -C ", directory, " checkout ", preset["commit"].AsString());
}

}  // namespace pipeline
