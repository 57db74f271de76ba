// Prepares the process at its start.
#pragma once

#include "base/status.h"

namespace pipeline {

/// Call it first. Opens descriptors 0 to 2 if they are closed, so that no file gets their numbers; turns
/// SIGPIPE and the file size limit (RLIMIT_FSIZE) into errors of write.
void PrepareProcess();

/// For tests: PIPE_KILL_AT=POINT:N ends the program by SIGKILL at the Nth passage of a commit point. Does
/// nothing if the variable is not set. kInvalidArgument if it names no commit point.
Status InstallKillSwitch();

/// From now on, a failed allocation or thread creation, on any thread, ends the program with a line on
/// standard error and `exit_code`, because no error can be returned. Unfinished outputs do not count, so only
/// work is lost. Any other uncaught exception is a bug and still aborts.
void SayLastWords(int exit_code);

}  // namespace pipeline
