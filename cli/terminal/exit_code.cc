#include "cli/terminal/exit_code.h"

#include "base/log.h"

namespace pipeline {

int Refuse(std::string_view why) {
  LogError(why);
  return kExitRefused;
}

int Refuse(const Status& why) { return Refuse(why.message()); }

}  // namespace pipeline
