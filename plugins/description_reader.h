// Parses the JSON that `describe` replies. Format: plugins/ABI.md, section 6.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "plugins/native/description.h"

namespace pipeline {

/// kInvalidArgument names the missing, wrong or unknown member: "stages[0].keys[1].type: ...".
Result<std::unique_ptr<PluginDescription>> ParseDescription(std::string_view plugin, std::string_view json);

}  // namespace pipeline
