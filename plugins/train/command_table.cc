#include "plugins/train/command_table.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/str.h"

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

CommandWord Place(std::string value, std::string help, bool required = true) {
  return {{}, std::move(value), {}, std::move(help), required};
}

std::vector<CommandEntry> AllCommands() {
  const CommandWord environment =
      Flag("--environment", "DIR", "The environment that runs it (default .pipe/trainer)");
  const CommandWord run =
      Place("RUN", "The run's directory, the location that `train` published to, or the URI of either");
  const CommandWord cache =
      Flag("--cache", "DIR", "The directory for what comes from buckets (default .pipe/fetched)");
  const CommandWord directory =
      Flag("--dir", "DIR", "The directory of the environment (default .pipe/trainer)");
  CommandWord set = Flag("--set", "NAME=VALUE", "Set a var, stages.STAGE.KEY or limits.KEY to another value");
  set.repeats = true;
  const CommandEntry setup = {
      "setup",
      "Make the Python environment of the bundled trainer, every file held to its digest",
      {directory,
       Flag("--extra", "WORD", "The device of the training: a CPU (the default), a GPU, a TPU",
            {"cpu", "cuda", "tpu"}),
       Flag("--python", "PATH",
            "The interpreter to make it with, of Python 3.11 to 3.13 (default: one that is found)")}};
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
       {setup, check, fit}},
      {"sample",
       "Continue a text with the model of a finished training",
       {run, Flag("--prompt", "TEXT", "The beginning of the text"),
        Flag("--length", "N", "The number of ids to write"),
        Flag("--temperature", "T", "0 takes the likeliest id each time, more takes others as well"),
        Flag("--top-p", "P", "Only the likeliest ids that have this share together"),
        Flag("--seed", "S", "Another seed gives another text"), environment, cache}},
      {"eval",
       "Score the model of a finished training on packed rows",
       {run, Place("DATA", "The location that `write_packed` published to, or its URI"),
        Flag("--split", "NAME", "The split to score (default validation)"),
        Flag("--rows", "N", "Only so many of its first rows"),
        Flag("--json", "FILE", "A file to write the scores to, for programs"), environment, cache}},
      {"predict",
       "Answer each line of a text with the model of a finished training",
       {run,
        Place("FILE", "The text in UTF-8, a line for each answer; left out, or -: the standard input", false),
        Flag("--out", "FILE", "The file of the answers (default: the standard output)"),
        Flag("--length", "N", "The most ids of an answer, where the model writes text"), environment, cache}},
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

std::vector<std::string_view> FlagsOf(const CommandEntry& command) {
  std::vector<std::string_view> flags;
  for (const CommandWord& word : command.words)
    flags.insert(flags.end(), word.flags.begin(), word.flags.end());
  return flags;
}

std::string UsageOf(const CommandEntry& command, std::string_view before) {
  const std::string called = StrCat(before, command.name);
  std::string usage;
  if (command.commands.empty()) usage = called;
  for (const CommandWord& word : command.words) {
    std::string value = word.value;
    for (std::size_t at = 0; at < word.choices.size(); ++at)
      value = StrCat(at == 0 ? "" : StrCat(value, "|"), word.choices[at]);
    const std::string shown = word.flags.empty() ? value : StrCat(word.flags.front(), " ", value);
    usage += word.required ? StrCat(" ", shown) : StrCat(" [", shown, "]", word.repeats ? "..." : "");
  }
  for (const CommandEntry& below : command.commands)
    usage += StrCat(usage.empty() ? "" : "; or ", UsageOf(below, StrCat(called, " ")));
  return usage;
}

}  // namespace pipeline
