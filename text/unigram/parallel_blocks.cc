#include "text/unigram/parallel_blocks.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace pipeline {

bool ForEachBlock(std::size_t blocks, std::size_t threads, const std::stop_token& stop,
                  const std::function<void(std::size_t block, std::size_t thread)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&](std::size_t thread) {
    for (std::size_t block = next++; block < blocks && !stop.stop_requested(); block = next++)
      work(block, thread);
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t thread = 1; thread < std::min(threads, blocks); ++thread)
        others.emplace_back(run, thread);
    } catch (const std::system_error&) {  // the threads that there are do all blocks
    }
    run(0);
  }
  return !stop.stop_requested();
}

}  // namespace pipeline
