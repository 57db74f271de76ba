// Words and flags of the command line. Parsing does nothing else.
#pragma once

#include <string>
#include <variant>

#include "cli/help/command_table.h"
#include "cli/options.h"

namespace pipeline {

/// Text to print and the status to end with: help, the version, or what is wrong with the words.
struct Reply {
  std::string text;
  int exit_code = 0;  // 0: text belongs on stdout; else on stderr
};

std::variant<Options, Reply> ParseArgs(int argc, char** argv);

/// Every command with its words, but for those that only the program itself gives.
CommandTable TheCommandTable();

}  // namespace pipeline
