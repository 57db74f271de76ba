// Checkpoints that a single host has left in a directory in which several hosts train now.
// hosts/checkpoints.md, "Restoring".
#pragma once

#include <string>

#include "base/status.h"
#include "plugins/native/services.h"
#include "plugins/train/bucket_checkpoints.h"

namespace pipeline {

/// Copies the newest usable one below `directory`, RUN/checkpoints, and the pinned ones to where `shared` has
/// its checkpoints, except those that are there. OK also if there are none. kDataLoss: there are some, and
/// all are damaged or without a list of their files.
Status CopySingleHostCheckpoints(const std::string& directory, const PluginServices& call,
                                 BucketCheckpoints& shared);

}  // namespace pipeline
