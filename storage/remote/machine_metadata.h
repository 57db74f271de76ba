// Values that the cloud provider gives about this machine: those of the metadata server of a Google Cloud
// machine. Source: cloud.google.com/compute/docs/metadata/querying-metadata
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/remote/http/environment.h"

namespace pipeline {

/// Reads the value at `path` below computeMetadata/v1/, e.g. "instance/preempted", within 1 s. The server is
/// that of GCE_METADATA_HOST, else Google's own if `product_file` tells that Google made this machine; other
/// machines are asked for nothing. Absent: there is no server, or it has no such value. kUnavailable: the
/// server did not give a whole answer in time. kInvalidArgument: `path` is no path.
Result<std::optional<std::string>> ReadMachineMetadata(
    std::string_view path, std::stop_token stop = {},
    const EnvironmentLookup& environment = ProcessEnvironment(),
    const std::string& product_file = "/sys/class/dmi/id/product_name");

}  // namespace pipeline
