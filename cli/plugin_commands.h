// `pipe plugins`, and the commands that plugins have.
#pragma once

#include "cli/help/command_table.h"
#include "cli/options.h"

namespace pipeline {

/// Every plugin that is found, with its stages and commands; 1 where one cannot be loaded.
int PluginsCommand(const Options& options);

/// Options::words, by the first plugin that has a command of that name.
int RunPluginCommand(const Options& options);

/// Adds the commands of all plugins that are found and can be loaded.
void AddPluginCommands(CommandTable& table);

/// Loads the plugin Options::target and ends: what a PluginLoader runs in a child process.
int ProbePluginCommand(const Options& options);

}  // namespace pipeline
