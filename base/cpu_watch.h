// Time of the processors that a thread takes, which is less than what goes by where it waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace pipeline {

/// The calling thread has taken this much since it began; 0 if the system does not tell.
inline std::uint64_t ThreadCpuNanoseconds() {
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Adds what its thread takes in its scope to a counter. Inside of the scope of another one it adds nothing:
/// a thread that waits in oneTBB may be given more work.
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
