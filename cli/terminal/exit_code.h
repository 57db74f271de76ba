// The exit status of the program, on which scripts rely.
#pragma once

#include <string_view>

#include "base/log.h"
#include "base/status.h"

namespace pipeline {

enum ExitCode : int {
  kExitDone = 0,    // done, also by an earlier run
  kExitFailed = 1,  // a stage failed, or `verify` found something
  // Bad command or file, lock held, limits too small, or there is nothing that the command could show,
  // remove, verify, copy or run again: nothing ran.
  kExitRefused = 2,
  kExitHangup = 129,     // SIGHUP
  kExitInterrupt = 130,  // SIGINT
  kExitTerminate = 143,  // SIGTERM

  // For `pipe worker`, and 75 for `pipe run` on a machine that is taken: the codes of sysexits.h, which
  // schedulers know.
  kExitUsage = 64,       // the command is wrong, or the plan has no such unit
  kExitBadData = 65,     // data is damaged, or made a stage fail
  kExitNoInput = 66,     // an input is missing or damaged
  kExitBug = 70,         // a bug
  kExitTryAgain = 75,    // stopped, a location is unreachable, or no space is left
  kExitPermission = 77,  // permission denied
  kExitConfig = 78,      // plan, file and program do not match, or the limits are too small
};

/// Ends a command that cannot begin: prints the error and returns kExitRefused.
inline int Refuse(std::string_view why) {
  LogError(why);
  return kExitRefused;
}
inline int Refuse(const Status& why) { return Refuse(why.message()); }

}  // namespace pipeline
