// The number of threads that process text.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

/// -j N.
Word ThreadsWord(int& threads);

/// `threads`; 0: as many as this machine has cores.
int ThreadCount(int threads = 0);

}  // namespace pipeline
