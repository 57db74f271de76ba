// For tests: PIPE_KILL_AT=POINT:N ends the program by SIGKILL at the Nth passage of a commit point.
#pragma once

#include "base/status.h"

namespace pipeline {

/// Does nothing if the variable is not set. kInvalidArgument if it names no commit point.
Status InstallKillSwitch();

}  // namespace pipeline
