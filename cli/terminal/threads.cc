#include "cli/terminal/threads.h"

#include <algorithm>
#include <thread>

namespace pipeline {

Word ThreadsWord(int& threads) {
  return {.flags = {"-j", "--jobs"},
          .value = "N",
          .help = "Threads for processing (default: cores)",
          .range = WordRange{1, 1024},
          .to = &threads};
}

int ThreadCount(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace pipeline
