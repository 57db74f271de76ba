#include "plugins/train/command_table.h"

#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "base/str.h"

namespace pipeline {

namespace {

const TrainCommand* Find(const std::vector<TrainCommand>& commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [name](const TrainCommand& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

Json ToJson(const TrainCommand& command) {
  Json json;
  json["name"] = command.name;
  json["help"] = command.help;
  for (const TrainWord& word : command.words) {
    Json made;
    if (!word.flag.empty()) made["flags"] = Json::Array{Json(word.flag)};
    made["value"] = word.value;
    made["help"] = word.help;
    for (const std::string_view choice : word.choices) made["choices"].Append(Json(choice));
    if (word.required) made["required"] = true;
    if (word.repeats) made["repeats"] = true;
    json["words"].Append(std::move(made));
  }
  for (const TrainCommand& below : command.commands) json["commands"].Append(ToJson(below));
  return json;
}

}  // namespace

const std::vector<TrainCommand>& TrainCommands() {
  static const TrainWord kEnvironment = {"--environment", "DIR",
                                         "The environment that runs it (default .pipe/trainer)"};
  static const TrainWord kRun = {
      "",
      "RUN",
      "The run's directory, the location that `train` published to, or the URI of either",
      {},
      true};
  static const TrainWord kCache = {"--cache", "DIR",
                                   "The directory for what comes from buckets (default .pipe/fetched)"};
  static const TrainWord kDirectory = {"--dir", "DIR",
                                       "The directory of the environment (default .pipe/trainer)"};
  static const std::vector<TrainCommand> kCommands = {
      {"trainer",
       "The trainer's environment, and whether a model fits a slice of TPUs",
       {},
       {{"setup",
         "Make the Python environment of the bundled trainer, every file held to its digest",
         {kDirectory,
          {"--extra",
           "WORD",
           "The device of the training: a CPU (the default), a GPU, a TPU",
           {"cpu", "cuda", "tpu"}},
          {"--python", "PATH",
           "The interpreter to make it with, of Python 3.11 to 3.13 (default: one that is found)"}}},
        {"check", "Say whether the environment is complete, and name its interpreter", {kDirectory}},
        {"fit",
         "Say before a TPU is rented whether a model fits it, in which pieces, and about how long it takes",
         {{"", "FILE", "A pipeline file, or the job.json of a run", {}, true},
          {"--set",
           "NAME=VALUE",
           "Set a var, stages.STAGE.KEY or limits.KEY to another value",
           {},
           false,
           true},
          {"--stage", "NAME", "The stage `train` to try, if the file has several"},
          {"--on", "SLICES", "The slices to try, such as v3-8,v5e-4; cpu: this machine"},
          {"--price", "PER_HOUR", "The price of a slice; the answer then has the cost, too"},
          {"--environment", "DIR",
           "An environment with libtpu (default .pipe/trainer-tpu, else that of the stage)"}}}}},
      {"sample",
       "Continue a text with the model of a finished training",
       {kRun,
        {"--prompt", "TEXT", "The beginning of the text"},
        {"--length", "N", "The number of ids to write"},
        {"--temperature", "T", "0 takes the likeliest id each time, more takes others as well"},
        {"--top-p", "P", "Only the likeliest ids that have this share together"},
        {"--seed", "S", "Another seed gives another text"},
        kEnvironment,
        kCache}},
      {"eval",
       "Score the model of a finished training on packed rows",
       {kRun,
        {"", "DATA", "The location that `write_packed` published to, or its URI", {}, true},
        {"--split", "NAME", "The split to score (default validation)"},
        {"--rows", "N", "Only so many of its first rows"},
        {"--json", "FILE", "A file to write the scores to, for programs"},
        kEnvironment,
        kCache}},
      {"predict",
       "Answer each line of a text with the model of a finished training",
       {kRun,
        {"", "FILE", "The text in UTF-8, a line for each answer; left out, or -: the standard input"},
        {"--out", "FILE", "The file of the answers (default: the standard output)"},
        {"--length", "N", "The most ids of an answer, where the model writes text"},
        kEnvironment,
        kCache}},
  };
  return kCommands;
}

const TrainCommand& TrainCommandOf(std::string_view name, std::string_view below) {
  const TrainCommand* command = Find(TrainCommands(), name);
  if (command != nullptr && !below.empty()) command = Find(command->commands, below);
  if (command == nullptr) std::abort();
  return *command;
}

std::vector<std::string_view> FlagsOf(const TrainCommand& command) {
  std::vector<std::string_view> flags;
  for (const TrainWord& word : command.words)
    if (!word.flag.empty()) flags.push_back(word.flag);
  return flags;
}

std::string UsageOf(const TrainCommand& command, std::string_view before) {
  const std::string called = StrCat(before, command.name);
  std::string usage;
  if (command.commands.empty()) usage = called;
  for (const TrainWord& word : command.words) {
    std::string value(word.value);
    for (std::size_t at = 0; at < word.choices.size(); ++at)
      value = StrCat(at == 0 ? "" : StrCat(value, "|"), word.choices[at]);
    const std::string shown = word.flag.empty() ? value : StrCat(word.flag, " ", value);
    usage += word.required ? StrCat(" ", shown) : StrCat(" [", shown, "]", word.repeats ? "..." : "");
  }
  for (const TrainCommand& below : command.commands)
    usage += StrCat(usage.empty() ? "" : "; or ", UsageOf(below, StrCat(called, " ")));
  return usage;
}

std::string TrainCommandsJson() {
  Json commands{Json::Array{}};
  for (const TrainCommand& command : TrainCommands()) commands.Append(ToJson(command));
  return commands.Dump();
}

}  // namespace pipeline
