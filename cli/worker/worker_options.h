// The options of a worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace pipeline {

struct WorkerOptions {
  std::string plan;                        // the location of the work package
  std::string scratch;                     // a directory for temporaries; empty: the system's
  int threads = 0;                         // 0: as many as this machine has cores
  std::uint64_t memory = 0;                // most bytes for a unit; 0: limits.memory
  std::chrono::milliseconds most_time{0};  // of `--next`: no unit is taken later; 0: no bound
};

}  // namespace pipeline
