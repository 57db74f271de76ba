// Slurm as an engine, and the batch script of its workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/submit/engine.h"

namespace pipeline {

/// Array jobs of Slurm, by sbatch, squeue and scancel of this machine.
std::unique_ptr<Engine> NewSlurmEngine(EngineOptions options);

/// The script for `sbatch --array`: each task of the array is one worker.
std::string SlurmScript(const WorkerSet& set, const EngineOptions& options);

/// The words of each call of sbatch that starts a part of the workers, if an array has at most `largest`
/// tasks. The larger worker has an array of its own, unless `words` choose the memory.
std::vector<std::vector<std::string>> SlurmArrays(const WorkerSet& set, const std::vector<std::string>& words,
                                                  int largest);

}  // namespace pipeline
