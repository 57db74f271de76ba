// Runs the programs of `pipe trainer setup`, one at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

struct SetupStep {
  std::string name;  // in messages
  std::vector<std::string> argv;
  std::string log;                    // the file of its output
  std::vector<std::string> set = {};  // "NAME=value"
  /// Receives the output too, on another thread; may be empty.
  std::function<void(std::string_view)> output = {};
};

/// Runs the program to its end. kUnavailable: it failed; its last lines are logged. kCancelled: it was
/// stopped.
Status RunStep(const SetupStep& step, const PluginServices& call);

/// The first bytes that a program writes to standard output, if it ends well. kFailedPrecondition: it does
/// not.
Result<std::string> AnswerOf(const std::vector<std::string>& argv, const PluginServices& call);

}  // namespace pipeline
