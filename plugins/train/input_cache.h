// What a training reads, on this machine wherever it lies: CONTRACT.md, section 10.
#pragma once

#include <string>

#include "base/result.h"
#include "plugins/train/host_call.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// Fetches the inputs of `job` that lie in a bucket into its directory `kept`, and names the directories in
/// it. What is there and right is not fetched again.
Status BringInputs(TrainJob& job, const HostCall& call);

/// The objects below `from` that `manifest` names and whose names begin with `prefix`, in a directory of
/// their content below `cache`: its path.
Result<std::string> BringArtifact(const std::string& from, const std::string& manifest,
                                  const std::string& prefix, const std::string& cache,
                                  const std::string& what, const HostCall& call);

}  // namespace pipeline
