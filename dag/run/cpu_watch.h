// Processor time of a thread: less than the elapsed time if the thread waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace pipeline {

/// Processor time of the calling thread since it began; 0: the system gives none.
inline std::uint64_t ThreadCpuNanoseconds() {
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Adds the processor time of its thread, in its scope, to a counter. Inside the scope of another CpuWatch
/// it adds nothing, because a thread that waits in oneTBB may receive more work.
class CpuWatch {
 public:
  explicit CpuWatch(std::atomic<std::uint64_t>& counter)
      : counter_(counter), outermost_(depth_++ == 0), begin_(outermost_ ? ThreadCpuNanoseconds() : 0) {}
  ~CpuWatch() {
    --depth_;
    if (outermost_) counter_.fetch_add(ThreadCpuNanoseconds() - begin_, std::memory_order_relaxed);
  }
  CpuWatch(const CpuWatch&) = delete;
  CpuWatch& operator=(const CpuWatch&) = delete;

 private:
  inline static thread_local int depth_ = 0;

  std::atomic<std::uint64_t>& counter_;
  const bool outermost_;
  const std::uint64_t begin_;
};

}  // namespace pipeline
