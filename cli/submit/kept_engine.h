// Engines whose workers a program on this machine keeps alive.
#pragma once

#include <memory>

#include "cli/submit/engine.h"

namespace pipeline {

/// Tasks of Ray, by a program on this machine that goes on without us.
std::unique_ptr<Engine> NewRayEngine(EngineOptions options);
/// Processes of this machine, which go on without us.
std::unique_ptr<Engine> NewLocalEngine(EngineOptions options);

}  // namespace pipeline
