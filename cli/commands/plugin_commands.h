// `pipe plugins`, and the commands of plugins.
#pragma once

#include "cli/terminal/command_table.h"
#include "cli/terminal/options.h"

namespace pipeline {

/// Lists every plugin found, with its stages and commands; 1 if one cannot be loaded.
int PluginsCommand(const Options& options);

/// Runs Options::words with the first plugin that has such a command.
int RunPluginCommand(const Options& options);

/// Adds the commands of all plugins that are found and load.
void AddPluginCommands(CommandTable& table);

/// Loads the plugin Options::target and exits: PluginLoader runs this in a child process.
int ProbePluginCommand(const Options& options);

}  // namespace pipeline
