// Engines whose workers a program on this machine keeps alive, and these programs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/submit/engine.h"

namespace pipeline {

/// Tasks of Ray, by a program on this machine that goes on without us.
std::unique_ptr<Engine> NewRayEngine(EngineOptions options);
/// Processes of this machine, which go on without us.
std::unique_ptr<Engine> NewLocalEngine(EngineOptions options);

/// The script of the workers on this machine. Its exit code: 0, or the first other one with which a worker
/// ended for good.
std::string LocalScript(const WorkerSet& set);

/// The program that runs the workers as tasks of Ray, in Python. It needs Ray alone.
std::string_view RayProgram();

/// The command that runs it from the file `program`.
std::vector<std::string> RayWords(const WorkerSet& set, const EngineOptions& options,
                                  const std::string& program);

}  // namespace pipeline
