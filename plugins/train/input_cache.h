// Keeps the inputs of a training on this machine: CONTRACT.md, section 10.
#pragma once

#include <string>

#include "base/result.h"
#include "plugins/train/host_call.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// Downloads the inputs of `job` that are in a bucket into its directory `kept`, and sets their directories
/// in `job`. Correct files are not downloaded again.
Status BringInputs(TrainJob& job, const HostCall& call);

/// Downloads the objects below `from` that `manifest` lists and whose names begin with `prefix`, into a
/// directory below `cache` that is named by their content; returns its path.
Result<std::string> BringArtifact(const std::string& from, const std::string& manifest,
                                  const std::string& prefix, const std::string& cache,
                                  const std::string& what, const HostCall& call);

}  // namespace pipeline
