// The stage `train`, from its request to its reply.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/hosts/host_timing.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// Returns the reply to the host (plugins/ABI.md, section 7). kCancelled after a stop; the progress stays
/// in the run directory and in its bucket. On one of several hosts, as TrainOnHosts; `timing` counts only
/// there. Blocks; the calling thread must live as long.
Result<Json> Train(TrainJob job, const HostTiming& timing, const PluginServices& call);

}  // namespace pipeline
