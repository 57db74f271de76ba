// Runs a Python program of the trainer whose output is the output of a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plugins/train/host_call.h"

namespace pipeline {

/// Runs `python` with `words` and `input`, and copies its output until it ends. kInvalidArgument if it
/// exits with 64, kFailedPrecondition if it exits with 1; the message has the end of its stderr.
Status PrintTrainer(const std::string& python, std::vector<std::string> words, std::string_view input,
                    const HostCall& call);

/// As PrintTrainer, with the standard input of this process as its input, which it gets as it comes.
Status StreamTrainer(const std::string& python, std::vector<std::string> words, const HostCall& call);

}  // namespace pipeline
