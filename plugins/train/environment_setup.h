// Creates the trainer's Python environment: CONTRACT.md, section 9.
#pragma once

#include <string>

#include "base/status.h"
#include "plugins/train/host_call.h"

namespace pipeline {

struct EnvironmentSetup {
  std::string directory;
  std::string extra = "cpu";
  std::string python;  // creates the environment; empty: a suitable one is searched
};

/// True: the environment was ready already. kFailedPrecondition: the directory belongs to somebody else.
Result<bool> SetUpEnvironment(const EnvironmentSetup& setup, const HostCall& call);

}  // namespace pipeline
