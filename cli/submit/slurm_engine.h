// Slurm as an engine.
#pragma once

#include <memory>

#include "cli/submit/engine.h"

namespace pipeline {

/// Array jobs of Slurm, by sbatch, squeue and scancel of this machine.
std::unique_ptr<Engine> NewSlurmEngine(EngineOptions options);

}  // namespace pipeline
