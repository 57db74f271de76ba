// How the programs here end.
#pragma once

#include <cstdio>
#include <string>

#include "base/status.h"

namespace pipeline {

/// 0, or 1 with the reason on stderr.
inline int ExitCode(const char* program, const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s: %s\n", program, std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace pipeline
