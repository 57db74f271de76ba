// The words of the plugin's commands in one table, used for parsing and, by the program, for help, completion
// and the manual; and the words of a call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_entry.h"
#include "base/json.h"
#include "base/result.h"

namespace pipeline {

const std::vector<CommandEntry>& TrainCommands();

/// The command `name`, or its subcommand `below`; the process aborts if the table lacks it.
const CommandEntry& TrainCommandOf(std::string_view name, std::string_view below = {});

/// "pipe trainer setup [--dir DIR] [--extra cpu|cuda|tpu] [--python PATH]"; for a command with subcommands,
/// the usage of each, separated by "; or ".
std::string UsageOf(const CommandEntry& command, std::string_view before = "pipe ");

/// The parsed words of a command: flags with one value each, switches without, and positional words.
struct CommandWords {
  std::vector<std::string> alone;
  std::map<std::string, std::string, std::less<>> flags;  // "--dir" -> its value; empty for a switch
  std::vector<std::string> repeated;                      // values of the flag that may repeat

  std::string Flag(std::string_view name, std::string_view fallback) const {
    const auto found = flags.find(name);
    return std::string(found == flags.end() ? fallback : std::string_view(found->second));
  }
};

/// `--flag value` or `--flag=value`, each at most once unless the table lets it repeat. kInvalidArgument
/// names a flag that `command` does not have.
Result<CommandWords> ParseCommandWords(const CommandEntry& command, const std::vector<std::string>& words);

/// The pairs NAME=VALUE of `--set`, the flag that may repeat, as an object. kInvalidArgument: one is no pair.
Result<Json> SettingsOf(const CommandWords& words);

/// Checks the number of a flag, which may be absent. kInvalidArgument: it is none from `least` to `most`, or
/// not whole.
Status CheckNumber(const CommandWords& words, std::string_view flag, double least, double most, bool whole);
/// The number of a flag that CheckNumber has passed as a whole one; absent: the flag is.
std::optional<std::int64_t> WholeFlag(const CommandWords& words, std::string_view flag);
/// Checks the name of a file to write, which may be absent. kInvalidArgument: its directory does not exist,
/// or something other than a regular file has the name.
Status CheckTarget(const CommandWords& words, std::string_view flag);

/// A word as a shell takes it, for a command that a person copies.
std::string Quoted(std::string_view word);

}  // namespace pipeline
