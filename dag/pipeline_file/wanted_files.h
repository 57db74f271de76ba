// Lists the files that a stage wants to read when some of them are missing.
#pragma once

#include <utility>
#include <vector>

#include "base/status.h"
#include "storage/local_input.h"

namespace pipeline {

/// Detail of a failed FileListKind::local_inputs: some files are missing. `wanted` has all files in the order
/// of the configuration, present or missing, and with `is_pattern` each pattern that matches no name.
struct WantedFiles final : StatusDetail {
  explicit WantedFiles(std::vector<LocalInput> inputs) : wanted(std::move(inputs)) {}
  std::vector<LocalInput> wanted;
};

}  // namespace pipeline
