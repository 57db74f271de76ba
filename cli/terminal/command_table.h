// All commands with their words, for --help, completion and the manual page. cli/terminal/args.cc fills it
// from the definitions that parse the words, and cli/commands/plugin_commands.cc from the plugins'
// descriptions, so that no word is defined twice.
#pragma once

#include <string>
#include <vector>

namespace pipeline {

struct CommandWord {
  std::vector<std::string> flags;    // "-n", "--dry-run"; empty: a positional word
  std::string value;                 // "N", "FILE"; empty: a flag without a value
  std::vector<std::string> choices;  // all allowed values; empty: any value
  std::string help;
  bool required = false;
  bool repeats = false;
};

struct CommandEntry {
  std::string name;
  std::string help;
  std::vector<CommandWord> words;           // positional words first, in order
  std::vector<CommandEntry> commands = {};  // subcommands, as `setup` of `trainer`
};

struct CommandTable {
  std::string help;    // one line: the purpose of the program
  std::string footer;  // exit status
  std::vector<CommandEntry> commands;
};

}  // namespace pipeline
