// The commands of the plugin: CONTRACT.md, section 9.
#pragma once

#include <string>
#include <vector>

#include "plugins/native/services.h"

namespace pipeline {

/// words[0] is the command. Returns the exit code: 0 done, 1 failed, 2 wrong words.
int RunTrainCommand(const std::vector<std::string>& words, const PluginServices& call);

}  // namespace pipeline
