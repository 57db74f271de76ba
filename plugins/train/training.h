// The stage `train` from its request to its answer.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/host_call.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// What the host publishes (plugins/ABI.md, section 7). kCancelled after a stop; what is reached stays in the
/// run directory, and in its bucket. Blocks, on a thread that lives as long.
Result<Json> Train(TrainJob job, const HostCall& call);

}  // namespace pipeline
