// The commands of the plugin: CONTRACT.md, section 9.
#pragma once

#include <string>
#include <vector>

#include "plugins/train/host_call.h"

namespace pipeline {

/// words[0] is the command. Returns the exit code: 0 done, 1 failed, 2 wrong words. `why` gets the error.
int RunTrainCommand(const std::vector<std::string>& words, const HostCall& call, std::string& why);

}  // namespace pipeline
