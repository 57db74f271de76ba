// Every command with its words, as --help, completion and the manual page show it. Made by cli/args.cc from
// the definitions that parse them, and by cli/plugin_commands.cc from what plugins say of theirs, so that no
// word is written down twice.
#pragma once

#include <string>
#include <vector>

namespace pipeline {

struct CommandWord {
  std::vector<std::string> flags;    // "-n", "--dry-run"; none: it is told by its place
  std::string value;                 // "N", "FILE"; empty: a flag without a value
  std::vector<std::string> choices;  // all that the value may be; none: anything
  std::string help;
  bool required = false;
  bool repeats = false;
};

struct CommandEntry {
  std::string name;
  std::string help;
  std::vector<CommandWord> words;           // first those that are told by their place, in their order
  std::vector<CommandEntry> commands = {};  // that stand behind it, as `setup` behind `trainer`
};

struct CommandTable {
  std::string help;    // one line: what the program is for
  std::string footer;  // exit status
  std::vector<CommandEntry> commands;
};

}  // namespace pipeline
