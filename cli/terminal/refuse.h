// Ends a command that cannot begin.
#pragma once

#include "base/status.h"

namespace pipeline {

/// Prints the error and returns kExitRefused.
int Refuse(const Status& why);

}  // namespace pipeline
