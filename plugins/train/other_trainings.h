// Trainings of the same stage beside this one, which have other recipes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/storage.h"

namespace pipeline {

/// One line about the training in the parent of `run_dir` that differs least from `job_file` (input_check.h)
/// and has checkpoints: which keys differ, and how far it is. Empty: there is none. `run_dir` is on this
/// machine and named STAGE-RECIPE16. A training begins anew with another recipe, and nobody should wonder
/// why.
std::string TrainingBeside(const std::string& run_dir, const Json& job_file);

/// A finished training whose model another export asks for.
struct FinishedTraining {
  std::string uri;
  std::int64_t steps = 0;
  std::string differences;  // "config.export.int8: none -> true"
};
/// The shortest finished training of at least the `steps` of `job_file` beside `run_uri`, of the same stage,
/// on this machine or in its bucket, that differs from `job_file` in `config.export` alone. Absent: there is
/// none.
Result<std::optional<FinishedTraining>> TrainingToExport(const std::string& run_uri, const Json& job_file,
                                                         const PluginStorage& storage);

}  // namespace pipeline
