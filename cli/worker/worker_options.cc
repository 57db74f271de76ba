#include "cli/worker/worker_options.h"

#include <unistd.h>

#include "base/str.h"

namespace pipeline {

std::string NameOfWorker() {
  char host[256] = "?";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '?';
  return StrCat(host, ", process ", getpid());
}

}  // namespace pipeline
