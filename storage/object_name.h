// Object names that every store accepts.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace pipeline {

inline constexpr std::size_t kMaxNameBytes = 1024;

/// kInvalidArgument: `name` is not an object name, see storage/README.md.
Status CheckObjectName(std::string_view name);

}  // namespace pipeline
