// Which Python the trainer's environment is made with: CONTRACT.md, section 9.
#pragma once

#include <string>

#include "base/result.h"
#include "plugins/train/host_call.h"

namespace pipeline {

struct PythonChoice {
  std::string program;  // a path, or a name that PATH has
  std::string version;  // "3.11"
};

/// `named`, or where it is empty the first of python3, python3.13, python3.12 and python3.11 that the
/// requirements are for and that can make environments. kFailedPrecondition names what was found instead, and
/// the command that mends it. Nothing is downloaded.
Result<PythonChoice> ChoosePython(const std::string& named, const HostCall& call);

}  // namespace pipeline
