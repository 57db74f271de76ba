#include "plugins/train/command_table.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/enumeration.h"
#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

const CommandEntry* Find(const std::vector<CommandEntry>& commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [name](const CommandEntry& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

CommandWord Flag(std::string flag, std::string value, std::string help,
                 std::vector<std::string> choices = {}) {
  return {{std::move(flag)}, std::move(value), std::move(choices), std::move(help)};
}

CommandWord Switch(std::string flag, std::string help) { return Flag(std::move(flag), {}, std::move(help)); }

CommandWord Place(std::string value, std::string help, bool required = true) {
  return {{}, std::move(value), {}, std::move(help), required};
}

std::vector<CommandEntry> AllCommands() {
  const CommandWord environment =
      Flag("--environment", "DIR", "The environment that runs it (default .pipe/trainer)");
  const CommandWord run =
      Place("RUN", "The run's directory, the location that `train` published to, or the URI of either");
  CommandWord places =
      Place("PLACE", "A pipeline file, a run's directory, the location that `train` published to, or a URI");
  places.repeats = true;
  const CommandWord cache =
      Flag("--cache", "DIR", "The directory for what comes from buckets (default .pipe/fetched)");
  const CommandWord directory =
      Flag("--dir", "DIR", "The directory of the environment (default .pipe/trainer, and .pipe/tensorboard)");
  CommandWord out = Flag("--out", "DIR", "The directory of the export, which does not exist yet");
  out.required = true;
  CommandWord set = Flag("--set", "NAME=VALUE", "Set a var, stages.STAGE.KEY or limits.KEY to another value");
  set.repeats = true;
  const CommandWord extra =
      Flag("--extra", "WORD", "The device of the training: a CPU (the default), a GPU, a TPU; or TensorBoard",
           {"cpu", "cuda", "tpu", "tensorboard"});
  const CommandWord python = Flag(
      "--python", "PATH",
      "The interpreter to make it with, of Python 3.11 to 3.13 (default: one that is found); or a version "
      "such as 3.12, which uv fetches if it is not here; or an archive of CPython");
  const CommandEntry setup = {
      "setup",
      "Make the Python environment of the bundled trainer, every file held to its digest",
      {directory, extra, python,
       Flag("--wheels", "DIR", "The directory of `pipe trainer wheels` to take all files from")}};
  const CommandEntry wheels = {
      "wheels",
      "Fetch the files of an environment into a directory, for a machine without a network",
      {Place("DIR", "The directory; files that are there already stay"), extra, python,
       Flag("--for", "VERSION", "The Python of the other machine (default: that of this one)",
            {"3.11", "3.12", "3.13"})}};
  const CommandEntry check = {
      "check", "Say whether the environment is complete, and name its interpreter", {directory}};
  const CommandEntry fit = {
      "fit",
      "Say before a TPU is rented whether a model fits it, in which pieces, and about how long it takes",
      {Place("FILE", "A pipeline file, or the job.json of a run"), set,
       Flag("--stage", "NAME", "The stage `train` to try, if the file has several"),
       Flag("--on", "SLICES", "The slices to try, such as v3-8,v5e-4; cpu: this machine"),
       Flag("--price", "PER_HOUR", "The price of a slice; the answer then has the cost, too"),
       Flag("--environment", "DIR",
            "An environment with libtpu (default .pipe/trainer-tpu, else that of the stage)")}};
  return {
      {"trainer",
       "The trainer's environment, and whether a model fits a slice of TPUs",
       {},
       {setup, wheels, check, fit}},
      {"sample",
       "Continue a text with the model of a finished training",
       {run, Flag("--prompt", "TEXT", "The beginning of the text"),
        Flag("--length", "N", "The number of ids to write"),
        Flag("--temperature", "T", "0 takes the likeliest id each time, more takes others as well"),
        Flag("--top-p", "P", "Only the likeliest ids that have this share together"),
        Flag("--seed", "S", "Another seed gives another text"), environment, cache}},
      {"eval",
       "Score the model of a training on rows",
       {run,
        Place(
            "DATA",
            "The location that `write_packed` or `write_bert` published to, or its URI (default: the rows of "
            "the training)",
            false),
        Flag("--step", "N", "Score the checkpoint at this step, also of a training that goes on"),
        Switch("--follow",
               "Score each checkpoint, also those to come, until the training ends; TensorBoard "
               "shows the scores beside the curves of the training"),
        Flag("--split", "NAME", "The split to score (default validation)"),
        Flag("--rows", "N", "Only so many of its first rows"),
        Flag("--json", "FILE", "A file to write the scores to, for programs"), environment, cache}},
      {"export",
       "Export the model of a training at a checkpoint, without training",
       {run, out,
        Flag("--step", "N", "The step of the checkpoint (default: the finished model, else the newest)"),
        Switch("--int8", "One more file, with matrices in 8 bits"),
        Flag("--gguf", "KIND", "Files for llama.cpp", {"f16", "q8_0", "both"}),
        Flag("--prune", "SHARE", "The share of the weights of each matrix of a layer that become 0"),
        Flag("--data", "DATA", "The rows of the training, if they are elsewhere now"), environment, cache}},
      {"predict",
       "Answer each line of a text with the model of a finished training",
       {run,
        Place("FILE", "The text in UTF-8, a line for each answer; left out, or -: the standard input", false),
        Flag("--out", "FILE", "The file of the answers (default: the standard output)"),
        Flag("--length", "N", "The most ids of an answer, where the model writes text"), environment, cache}},
      {"tensorboard",
       "Show the curves of trainings in TensorBoard, also while they go on",
       {places, set, Flag("--port", "N", "The port of its page (default: 6006, or the next free one)"),
        Flag("--host", "NAME", "The address that it serves (default: this machine alone)"),
        Flag("--environment", "DIR",
             "An environment that has TensorBoard (default: one of its own, made at the first use)"),
        cache}},
  };
}

}  // namespace

const std::vector<CommandEntry>& TrainCommands() {
  static const std::vector<CommandEntry> kCommands = AllCommands();
  return kCommands;
}

const CommandEntry& TrainCommandOf(std::string_view name, std::string_view below) {
  const CommandEntry* command = Find(TrainCommands(), name);
  if (command != nullptr && !below.empty()) command = Find(command->commands, below);
  if (command == nullptr) std::abort();
  return *command;
}

std::string UsageOf(const CommandEntry& command, std::string_view before) {
  const std::string called = StrCat(before, command.name);
  std::string usage;
  if (command.commands.empty()) usage = called;
  for (const CommandWord& word : command.words) {
    std::string value = word.value;
    for (std::size_t at = 0; at < word.choices.size(); ++at)
      value = StrCat(at == 0 ? "" : StrCat(value, "|"), word.choices[at]);
    const std::string shown = word.flags.empty()   ? value
                              : word.value.empty() ? word.flags.front()
                                                   : StrCat(word.flags.front(), " ", value);
    usage += word.required ? StrCat(" ", shown) : StrCat(" [", shown, "]");
    if (word.repeats) usage += "...";
  }
  for (const CommandEntry& below : command.commands)
    usage += StrCat(usage.empty() ? "" : "; or ", UsageOf(below, StrCat(called, " ")));
  return usage;
}

Result<CommandWords> ParseCommandWords(const CommandEntry& command, const std::vector<std::string>& words) {
  const auto wrong = [](std::string why) { return Status(Code::kInvalidArgument, std::move(why)); };
  CommandWords parsed;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (!word.starts_with("--")) {
      parsed.alone.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::vector<std::string_view> known;
    const CommandWord* flag = nullptr;
    for (const CommandWord& one : command.words)
      for (const std::string& spelled : one.flags) {
        known.push_back(spelled);
        if (spelled == name) flag = &one;
      }
    if (flag == nullptr) {
      const std::string_view meant = NearestWord(name, known);
      return wrong(StrCat("there is no ", name, meant.empty() ? "" : StrCat("; did you mean ", meant, "?")));
    }
    const bool has_value = !flag->value.empty();
    if (!has_value && equals != std::string::npos) return wrong(StrCat(name, " takes no value"));
    if (has_value && equals == std::string::npos && at + 1 == words.size())
      return wrong(StrCat(name, " wants a value"));
    const std::string value = !has_value                    ? std::string()
                              : equals == std::string::npos ? words[++at]
                                                            : word.substr(equals + 1);
    const std::vector<std::string>& choices = flag->choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end())
      return wrong(StrCat(name, ": '", value, "' is none of ", Join(choices, ", ")));
    if (flag->repeats)
      parsed.repeated.push_back(value);
    else if (!parsed.flags.emplace(name, value).second)
      return wrong(StrCat(name, " is there twice"));
  }
  return parsed;
}

Result<Json> SettingsOf(const CommandWords& words) {
  Json set{Json::Object{}};
  for (const std::string& pair : words.repeated) {
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Status(Code::kInvalidArgument, StrCat("--set ", pair, ": expected NAME=VALUE"));
    set[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return set;
}

Status CheckNumber(const CommandWords& words, std::string_view flag, double least, double most, bool whole) {
  const auto found = words.flags.find(flag);
  if (found == words.flags.end()) return {};
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  const bool number = !found->second.empty() && *end == '\0' && value >= least && value <= most;
  const bool digits = found->second.find_first_not_of("0123456789") == std::string::npos;
  if (number && (digits || !whole)) return {};
  return Status(Code::kInvalidArgument,
                StrCat(flag, ": '", found->second, "' is no ", whole ? "whole " : "", "number from ",
                       static_cast<std::int64_t>(least), " to ", static_cast<std::int64_t>(most)));
}

std::optional<std::int64_t> WholeFlag(const CommandWords& words, std::string_view flag) {
  return ParseNumber<std::int64_t>(words.Flag(flag, ""));
}

Status CheckTarget(const CommandWords& words, std::string_view flag) {
  namespace fs = std::filesystem;
  const auto found = words.flags.find(flag);
  if (found == words.flags.end()) return {};
  const auto wrong = [&](std::string_view why) {
    return Status(Code::kInvalidArgument, StrCat(flag, ": '", found->second, "' ", why));
  };
  const fs::path file = found->second;
  std::error_code error;
  if (!file.has_filename()) return wrong("names no file");
  if (file.has_parent_path() && !fs::is_directory(file.parent_path(), error))
    return wrong("has no directory yet; make it");
  if (fs::exists(file, error) && !fs::is_regular_file(file, error))
    return wrong("is there and no file to replace; name another");
  return {};
}

std::string Quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace pipeline
