// Loads a plugin into this process.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "plugins/native/plugin.h"

namespace pipeline {

/// Runs the library's code in this process: call it only after a child process loaded it successfully
/// (plugins/loader.h). kInvalidArgument names `path` if it is neither a plugin of this ABI version nor one
/// of this build.
Result<std::shared_ptr<const Plugin>> LoadPlugin(const std::string& path);

}  // namespace pipeline
