// The start-up script of a rented machine: it gives the slice back in time, whoever watches: cli/tpu/tpu.md
#pragma once

#include <string>

#include "cli/tpu/slice_cloud.h"

namespace pipeline {

/// A script for bash, as a machine of the API runs it at each start. It has no key and no token: the metadata
/// server of the machine gives one. PIPE_WATCHDOG_API and PIPE_WATCHDOG_METADATA replace the two addresses in
/// a test.
std::string WatchdogScript(const SliceOrder& order);

}  // namespace pipeline
