// What a fuzzer holds its findings against.
#pragma once

#include <cstdlib>

namespace pipeline {

/// Ends the program where `holds` is false, which the fuzzer takes for a finding.
inline void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace pipeline
