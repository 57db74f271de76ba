// The stage `train` on one of several hosts, from its request to its reply. hosts/hosts.md.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/host_call.h"
#include "plugins/train/hosts/host_position.h"
#include "plugins/train/hosts/host_timing.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// Ends on all hosts as it ends on host 0, which alone publishes; the reply of the others is empty.
/// kCancelled after a stop of this host. Blocks; the calling thread must live as long.
Result<Json> TrainOnHosts(TrainJob job, const HostPosition& position, const HostTiming& timing,
                          const HostCall& call);

}  // namespace pipeline
