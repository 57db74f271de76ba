// A job of Google Cloud Batch, which a person gives to gcloud.
#pragma once

#include <string>

#include "cli/submit/cloud_options.h"
#include "cli/submit/engine.h"

namespace pipeline {

/// JSON for `gcloud batch jobs submit --config`. A worker that ended with 75, or whose machine was taken
/// back, starts again: as often as Batch allows, which is 10 times.
std::string BatchJob(const WorkerSet& set, const CloudOptions& options);

}  // namespace pipeline
