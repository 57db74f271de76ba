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
    "or there is nothing where it looks, and nothing ran, 75 the provider takes this machine, 129 the "
    "terminal\n"
    "ended (SIGHUP), 130 interrupted (SIGINT), 143 terminated (SIGTERM, SIGUSR1, SIGUSR2, SIGQUIT).";
constexpr std::size_t kHelpColumn = 34;  // --help: the column of the texts

struct CommandTable {
  std::string help;    // one line: the purpose of the program
  std::string footer;  // exit status
  std::vector<CommandEntry> commands;
};

/// `commands` without those that are hidden.
CommandTable CommandTableOf(const std::vector<Command>& commands);

// The `--help` text of the program and of a plugin's command, in the format that CLI11 uses for the program's
// own commands.

/// `called`: the words before its name, "pipe " or "pipe trainer ".
std::string CommandHelp(const CommandEntry& command, const std::string& called);

/// The `--help` text of the program: all commands of `table`.
std::string ProgramHelp(const CommandTable& table);

/// The manual page pipe(1), in the format of man(7); `version` is in its footer.
std::string ManualPage(const CommandTable& table, std::string_view version);

// Makes a shell script that completes commands, options and their choices.

/// For `source <(pipe completion bash)`. Sources of the forms: bash(1), "Programmable Completion".
std::string BashCompletion(const CommandTable& table);
/// For `source <(pipe completion zsh)`, or as the file `_pipe` of a directory in fpath; zshcompsys(1).
std::string ZshCompletion(const CommandTable& table);
/// For `pipe completion fish | source`; complete(1) of fish.
std::string FishCompletion(const CommandTable& table);

}  // namespace pipeline
