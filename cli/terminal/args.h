// Parses the command line by the words of the commands. It only stores values in the variables that the words
// name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/terminal/command.h"

namespace pipeline {

/// Text to print and the exit status: help, the version, or an error about the words.
struct Reply {
  std::string text;
  int exit_code = 0;  // 0: print the text on stdout; else on stderr
};

inline constexpr std::string_view kHelpCommand = "help";  // its command prints the help of the program

/// `commands` outlives the call. `version` returns the text of --version.
std::variant<Call, Reply> ParseArgs(const std::vector<Command>& commands,
                                    const std::function<std::string()>& version, int argc, char** argv);

}  // namespace pipeline
