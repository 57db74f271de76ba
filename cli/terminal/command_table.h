// All commands with their words, for completion, the manual page and the help of plugins' commands. The
// program's own commands come from the tables that also parse the words, and cli/commands/plugin_commands.cc
// adds the plugins' descriptions, so that no word is defined twice.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_entry.h"
#include "cli/terminal/command.h"

namespace pipeline {

constexpr std::string_view kProgramHelp =
    "pipe turns raw text on the web into a trained language model: one file names the stages.";
constexpr std::string_view kProgramFooter =
    "Exit status: 0 done, 1 a stage failed or verify found something, 2 the command or the file is wrong\n"
    "or there is nothing where it looks, and nothing ran, 129 the terminal ended (SIGHUP), 130 interrupted\n"
    "(SIGINT), 143 terminated (SIGTERM).";
constexpr std::size_t kHelpColumn = 34;  // --help: the column of the texts

struct CommandTable {
  std::string help;    // one line: the purpose of the program
  std::string footer;  // exit status
  std::vector<CommandEntry> commands;
};

/// `commands` without those that are hidden.
CommandTable CommandTableOf(const std::vector<Command>& commands);

}  // namespace pipeline
