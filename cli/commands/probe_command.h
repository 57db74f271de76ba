// `pipe __probe-plugin`, which PluginLoader runs in a child process: loads one plugin and exits.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command ProbeCommand();

}  // namespace pipeline
