#include "storage/remote/machine_metadata.h"

#include <utility>

#include "storage/remote/gcs/metadata_server.h"

namespace pipeline {

Result<std::optional<std::string>> ReadMachineMetadata(std::string_view path, std::stop_token stop) {
  return ReadMetadata(ProcessEnvironment(), path, std::move(stop));
}

}  // namespace pipeline
