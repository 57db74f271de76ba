// System calls that a signal may interrupt before they do anything, as on network file systems.
#pragma once

#include <cerrno>

namespace pipeline {

/// Returns the result of `call`, which is repeated while it fails with EINTR. `errno` is from the last
/// call.
template <class Call>
auto Uninterrupted(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace pipeline
