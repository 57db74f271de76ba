// Trainings of the same stage beside this one, which have other recipes.
#pragma once

#include <string>

#include "base/json.h"

namespace pipeline {

/// One line about the training in the parent of `run_dir` that differs least from `job_file` (input_check.h)
/// and has checkpoints: which keys differ, and how far it is. Empty: there is none. `run_dir` is on this
/// machine and named STAGE-RECIPE16. A training begins anew with another recipe, and nobody should wonder
/// why.
std::string TrainingBeside(const std::string& run_dir, const Json& job_file);

}  // namespace pipeline
