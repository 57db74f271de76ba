// The words of `pipe trainer` and `pipe sample`, in one table: what is parsed, and what the host shows as
// help, completion and manual.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

struct TrainWord {
  std::string_view flag;   // "--dir"; empty: it is told by its place
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
  std::vector<TrainCommand> commands = {};  // that stand behind it
};

const std::vector<TrainCommand>& TrainCommands();

/// Of `name`, or of `below` behind it; the process ends where the table has none.
const TrainCommand& TrainCommandOf(std::string_view name, std::string_view below = {});

/// All flags that one of these has.
std::vector<std::string_view> FlagsOf(const TrainCommand& command);

/// "pipe trainer setup [--dir DIR] [--extra cpu|cuda|tpu] [--python PATH]"; of a command with others behind
/// it, theirs, with "; or " between them.
std::string UsageOf(const TrainCommand& command, std::string_view before = "pipe ");

/// The member `commands` of the description: plugins/ABI.md, section 6.
std::string TrainCommandsJson();

}  // namespace pipeline
