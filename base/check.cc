#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace pipeline {

void EndOnBug(const char* file, int line, std::string_view what) {
  std::fprintf(stderr, "error: %s:%d: %.*s [this is a bug]\n", file, line, static_cast<int>(what.size()),
               what.data());
  std::abort();
}

}  // namespace pipeline
