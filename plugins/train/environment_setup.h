// Makes the trainer's environment: CONTRACT.md, section 9.
#pragma once

#include <string>

#include "base/status.h"
#include "plugins/train/host_call.h"

namespace pipeline {

struct EnvironmentSetup {
  std::string directory;
  std::string extra = "cpu";
  std::string python;  // that the environment is made with; empty: one that is found
};

/// True where there is nothing to do. kFailedPrecondition for a directory that is somebody's own.
Result<bool> SetUpEnvironment(const EnvironmentSetup& setup, const HostCall& call);

}  // namespace pipeline
