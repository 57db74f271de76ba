// Parses the words and flags of the command line, without side effects.
#pragma once

#include <string>
#include <variant>

#include "cli/terminal/command_table.h"
#include "cli/terminal/options.h"

namespace pipeline {

/// Text to print and the exit status: help, the version, or an error about the words.
struct Reply {
  std::string text;
  int exit_code = 0;  // 0: print the text on stdout; else on stderr
};

std::variant<Options, Reply> ParseArgs(int argc, char** argv);

/// All commands with their words, except internal commands.
CommandTable TheCommandTable();

}  // namespace pipeline
