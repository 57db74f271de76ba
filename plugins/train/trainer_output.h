// Runs a Python program of the trainer whose output is the output of a command.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

/// Runs `python` with `words` and `input`, and copies its output until it ends. kInvalidArgument if it
/// exits with 64, kFailedPrecondition if it exits with 1; the message has the end of its stderr.
Status PrintTrainer(const std::string& python, std::vector<std::string> words, std::string_view input,
                    const PluginServices& call);

/// Takes the next bytes of an input, none at its end; returns those that may go on.
using InputFilter = std::function<Result<std::string>(std::string_view bytes)>;

/// As PrintTrainer, with what `filter` returns of `input`, an open file, as it comes. An error of the filter
/// ends the input; the trainer answers what it has.
Status StreamTrainer(const std::string& python, std::vector<std::string> words, int input,
                     const InputFilter& filter, const PluginServices& call);

}  // namespace pipeline
