// The batch script of the workers of a run under Slurm.
#pragma once

#include <string>
#include <vector>

#include "cli/submit/engine.h"

namespace pipeline {

/// The script for `sbatch --array`: each task of the array is one worker.
std::string SlurmScript(const WorkerSet& set, const EngineOptions& options);

/// The values of --array that start `workers` tasks, if an array has at most `largest` of them.
std::vector<std::string> ArraySpans(int workers, int largest);

}  // namespace pipeline
