// The description of this plugin. Format: plugins/ABI.md, section 6.
#pragma once

#include <string_view>

namespace pipeline {

/// The reply of `describe`; its keys are those of CONTRACT.md, section 1.
std::string_view Description();

}  // namespace pipeline
