// The program that runs the workers of a run as tasks of Ray.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/submit/engine.h"

namespace pipeline {

/// Its text, in Python. It needs Ray alone.
std::string_view RayProgram();

/// The command that runs it from the file `program`.
std::vector<std::string> RayWords(const WorkerSet& set, const EngineOptions& options,
                                  const std::string& program);

}  // namespace pipeline
