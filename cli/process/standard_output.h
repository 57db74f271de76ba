// Standard output from the first to the last byte of a command, and what else a process has from the start.
#pragma once

namespace pipeline {

/// First of all: descriptors 0 to 2 are open, so that no file gets their numbers; a reader that went away and
/// a limit on the size of files (RLIMIT_FSIZE) are errors of write, not signals.
void PrepareProcess();

/// The exit code of a command that ends with `exit_code`: 1, after saying why, where it would be 0 and what
/// it printed did not get there. A reader that went away had enough.
int FinishStandardOutput(int exit_code);

}  // namespace pipeline
