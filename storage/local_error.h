// Failed system calls on local paths, told to the person who can do something about them.
#pragma once

#include <string_view>

#include "base/status.h"

namespace pipeline {

/// "<path>: <what>: <reason>; <what to do>" with the code that SystemError gives.
Status LocalError(std::string_view path, std::string_view what, int error_number);

}  // namespace pipeline
