// Shares blocks of work among threads.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace pipeline {

/// Calls `work` once for each block from 0 to `blocks` - 1, in any order, on at most `threads` threads, the
/// caller's among them. `thread` is below `threads`. Threads that the system refuses are done without. False:
/// stopped; some blocks are missing then.
bool ForEachBlock(std::size_t blocks, std::size_t threads, const std::stop_token& stop,
                  const std::function<void(std::size_t block, std::size_t thread)>& work);

}  // namespace pipeline
