// Tells whether the hosts of a training can share a location. hosts/hosts.md, section 6.
#pragma once

#include <string>

#include "base/status.h"
#include "plugins/train/hosts/host_position.h"

namespace pipeline {

/// kInvalidArgument: `uri` is a directory on a file system of this machine alone, and the hosts have
/// different addresses. An unknown file system is accepted.
Status CheckSharedLocation(const std::string& uri, const HostPosition& position);

}  // namespace pipeline
