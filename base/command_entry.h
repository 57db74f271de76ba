// A command and its words, as help, completion and the manual show them.
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
  std::vector<CommandWord> words = {};      // positional words first, in order
  std::vector<CommandEntry> commands = {};  // subcommands, as `setup` of `trainer`
  std::string exit_statuses = {};           // empty: those of the program
  bool has_words = true;  // false: a plugin does not say its words, and answers --help itself
};

}  // namespace pipeline
