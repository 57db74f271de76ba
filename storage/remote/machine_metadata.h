// Values that the cloud provider gives about this machine.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// As ReadMetadata (storage/remote/gcs/metadata_server.h), with the environment of this process.
Result<std::optional<std::string>> ReadMachineMetadata(std::string_view path, std::stop_token stop = {});

}  // namespace pipeline
