// A Job of Kubernetes, which a person gives to kubectl.
#pragma once

#include <string>

#include "cli/submit/cloud_options.h"
#include "cli/submit/engine.h"

namespace pipeline {

/// YAML for `kubectl apply`: a Job of Kubernetes 1.29 or later. A worker starts again as in Engine; the end
/// of its machine does not count.
std::string KubernetesJob(const WorkerSet& set, const CloudOptions& options);

}  // namespace pipeline
