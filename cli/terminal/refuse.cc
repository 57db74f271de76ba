#include "cli/terminal/refuse.h"

#include "base/log.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

int Refuse(const Status& why) {
  LogError(why.message());
  return kExitRefused;
}

}  // namespace pipeline
