// Prints a last line when the program must end because memory or threads are exhausted and no error can be
// returned.
#pragma once

namespace pipeline {

/// From now on, a failed allocation or thread creation, on any thread, ends the program with a line on
/// standard error and `exit_code`. Unfinished outputs do not count, so only work is lost. Any other
/// uncaught exception is a bug and still aborts.
void SayLastWords(int exit_code);

}  // namespace pipeline
