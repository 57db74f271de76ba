// Messages for failed system calls on local paths, with advice for the person.
#pragma once

#include <string_view>

#include "base/status.h"

namespace pipeline {

/// "<path>: <what>: <reason>; <what to do>", with the code from SystemError.
Status LocalError(std::string_view path, std::string_view what, int error_number);

}  // namespace pipeline
