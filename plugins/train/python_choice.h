// Chooses the Python that creates the trainer's environment: CONTRACT.md, section 9.
#pragma once

#include <string>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

struct PythonChoice {
  std::string program;  // a path, or a name in PATH
  std::string version;  // "3.11"
};

/// Returns `named`, or if it is empty the first of python3, python3.13, python3.12 and python3.11 that the
/// requirements support and that can create environments. kFailedPrecondition names those found and the
/// command that fixes it. Downloads nothing.
Result<PythonChoice> ChoosePython(const std::string& named, const PluginServices& call);

}  // namespace pipeline
