// What this plugin says that it has. Form: plugins/ABI.md, section 6.
#pragma once

#include <string_view>

namespace pipeline {

/// The answer of `describe`; the keys are those of CONTRACT.md, section 1.
std::string_view Description();

}  // namespace pipeline
