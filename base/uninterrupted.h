// System calls that a signal may break off before they did anything, as on network file systems.
#pragma once

#include <cerrno>

namespace pipeline {

/// What `call` gives, called again as long as it fails with EINTR; `errno` is that of the last time.
template <class Call>
auto Uninterrupted(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace pipeline
