// Prepares the process at its start, prints, and checks at its end that standard output was written.
#pragma once

#include <string_view>

namespace pipeline {

/// Call it first. Opens descriptors 0 to 2 if they are closed, so that no file gets their numbers; turns
/// SIGPIPE and the file size limit (RLIMIT_FSIZE) into errors of write.
void PrepareProcess();

/// Prints `text` and returns kExitDone; FinishStandardOutput tells whether it was written.
int PrintText(std::string_view text);

/// Prints `line` and LF to standard output, without control characters.
void PrintLine(std::string_view line);

/// The exit code of a command that ends with `exit_code`: 1, after an error message, instead of 0 if its
/// output was not written completely. A reader that went away had enough.
int FinishStandardOutput(int exit_code);

}  // namespace pipeline
