// The line that the program prints when it cannot go on for want of memory or threads, where no failure can
// be handed up any more.
#pragma once

namespace pipeline {

/// From now on a failed allocation, or a thread that cannot be had, ends the program with a line on standard
/// error and `exit_code`, on whichever thread it comes: nothing half-done counts, so work is lost and nothing
/// else. Another exception that nobody catches is a bug, and aborts as before.
void SayLastWords(int exit_code);

}  // namespace pipeline
