// `pipe plugins`: lists the plugins that are found.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command PluginsCommand();

}  // namespace pipeline
