// A plugin through the C ABI. Rules: plugins/ABI.md.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "plugins/native/plugin.h"
#include "plugins/plugin_abi.h"

namespace pipeline {

/// `entry`: the reply of pipe_plugin_entry. kInvalidArgument: it is not a plugin of this ABI version.
Result<std::unique_ptr<const Plugin>> AbiPluginOf(const std::string& path, const void* entry);

}  // namespace pipeline
