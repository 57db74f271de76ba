// What the program's exit status says; scripts rely on it.
#pragma once

namespace pipeline {

enum ExitCode : int {
  kExitDone = 0,      // done, or nothing to do
  kExitFailed = 1,    // a stage failed, or `verify` found something
  kExitRefused = 2,   // the command or the file is wrong, the lock is held, limits cannot hold: nothing ran
  kExitHangup = 129,  // SIGHUP
  kExitInterrupt = 130,  // SIGINT
  kExitTerminate = 143,  // SIGTERM

  // Of `pipe worker`, as sysexits.h has them and schedulers know them.
  kExitUsage = 64,       // the command is wrong, or the plan has no such unit
  kExitBadData = 65,     // data is damaged, or a stage failed for it
  kExitNoInput = 66,     // an input is missing or damaged
  kExitBug = 70,         // a bug
  kExitTryAgain = 75,    // stopped, a place that cannot be reached, no space left
  kExitPermission = 77,  // permission denied
  kExitConfig = 78,      // plan, file and program do not fit together, or the limits cannot hold
};

}  // namespace pipeline
