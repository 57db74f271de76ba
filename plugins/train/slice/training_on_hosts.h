// The stage `train` on one of several hosts. hosts/hosts.md.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/hosts/host_timing.h"
#include "plugins/train/prepared_training.h"

namespace pipeline {

/// Ends on all hosts as it ends on host 0, which alone publishes; the reply of the others is empty.
/// kCancelled after a stop of this host. `training` has a bucket.
Result<Json> TrainOnHosts(const PreparedTraining& training, const HostTiming& timing);

}  // namespace pipeline
