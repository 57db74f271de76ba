// The words of the plugin's commands in one table, used for parsing and, by the host, for help,
// completion and the manual.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

struct TrainWord {
  std::string_view flag;   // "--dir"; empty: a positional word
  std::string_view value;  // "DIR"
  std::string_view help;   // without a full stop
  std::vector<std::string_view> choices = {};
  bool required = false;
  bool repeats = false;
};

struct TrainCommand {
  std::string_view name;
  std::string_view help;
  std::vector<TrainWord> words = {};
  std::vector<TrainCommand> commands = {};  // its subcommands
};

const std::vector<TrainCommand>& TrainCommands();

/// The command `name`, or its subcommand `below`; the process aborts if the table lacks it.
const TrainCommand& TrainCommandOf(std::string_view name, std::string_view below = {});

/// All flags of the command.
std::vector<std::string_view> FlagsOf(const TrainCommand& command);

/// "pipe trainer setup [--dir DIR] [--extra cpu|cuda|tpu] [--python PATH]"; for a command with subcommands,
/// the usage of each, separated by "; or ".
std::string UsageOf(const TrainCommand& command, std::string_view before = "pipe ");

/// The member `commands` of the plugin's description: plugins/ABI.md, section 6.
std::string TrainCommandsJson();

}  // namespace pipeline
