#include "storage/remote/http/rate_limit.h"

#include <algorithm>

#include "base/mutex.h"
#include "base/result.h"

namespace pipeline {

namespace {

/// Unused bytes are saved for this long; otherwise a transfer that waited for its server would lose its
/// share.
constexpr std::chrono::nanoseconds kSaved = std::chrono::milliseconds(100);

}  // namespace

void RateLimit::Take(std::uint64_t bytes) {
  if (bytes_per_second_ == 0) return;
  const double nanoseconds = static_cast<double>(bytes) * 1e9 / static_cast<double>(bytes_per_second_);
  const std::chrono::nanoseconds now = clock_.Monotonic();
  const Lock lock(mutex_);
  paid_until_ = std::max(paid_until_, now - kSaved) + std::chrono::nanoseconds(std::int64_t(nanoseconds));
}

Status RateLimit::Wait(const std::stop_token& stop) {
  while (bytes_per_second_ != 0) {
    std::chrono::nanoseconds ahead;
    {
      const Lock lock(mutex_);
      ahead = paid_until_ - clock_.Monotonic();
    }
    if (ahead <= std::chrono::nanoseconds(0)) break;
    RETURN_IF_ERROR(pause_.For(std::chrono::ceil<std::chrono::milliseconds>(ahead), stop));
  }
  return {};
}

}  // namespace pipeline
