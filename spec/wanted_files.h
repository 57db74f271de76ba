// What a stage wants to read, where not all of it is there.
#pragma once

#include <utility>
#include <vector>

#include "base/status.h"
#include "spec/registry.h"

namespace pipeline {

/// StageType::local_inputs failed since something is not there. In the order of the configuration: files,
/// there or not, and with `is_pattern` what nothing has the name of.
struct WantedFiles final : StatusDetail {
  explicit WantedFiles(std::vector<LocalInput> inputs) : wanted(std::move(inputs)) {}
  std::vector<LocalInput> wanted;
};

}  // namespace pipeline
