// What the program's exit status says; scripts rely on it.
#pragma once

namespace pipeline {

enum ExitCode : int {
  kExitDone = 0,     // done, or nothing to do
  kExitFailed = 1,   // a stage failed, or `verify` found something
  kExitRefused = 2,  // the command or the file is wrong, the lock is held, limits cannot hold: nothing ran
  kExitInterrupt = 130,  // SIGINT
  kExitTerminate = 143,  // SIGTERM
};

}  // namespace pipeline
