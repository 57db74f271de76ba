// A program of the trainer's Python whose output is that of a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plugins/train/host_call.h"

namespace pipeline {

/// Runs `python` with `words` and `input`, and passes its output on until it ends. kInvalidArgument where
/// it ends with 64, kFailedPrecondition where it ends with 1; a message has the end of its standard error.
Status PrintTrainer(const std::string& python, std::vector<std::string> words, std::string_view input,
                    const HostCall& call);

}  // namespace pipeline
