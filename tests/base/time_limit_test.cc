#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "base/wait.h"

namespace pipeline {
namespace {

/// Returns when the token stops.
void Await(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, stop, [] { return false; });
}

TEST(TimeLimitTest, StopsByItself) {
  const TimeLimit limit(std::chrono::milliseconds(1), {});
  Await(limit.token());
  EXPECT_TRUE(limit.token().stop_requested());
}

TEST(TimeLimitTest, StopsWithWhatItIsGiven) {
  std::stop_source source;
  const TimeLimit limit(std::chrono::hours(1), source.get_token());
  EXPECT_FALSE(limit.token().stop_requested());
  source.request_stop();
  EXPECT_TRUE(limit.token().stop_requested());
}

TEST(TimeLimitTest, EndsAtOnceWhenNobodyNeedsItAnyMore) {
  std::stop_token token;
  {
    const TimeLimit limit(std::chrono::hours(1), {});
    token = limit.token();
  }
  EXPECT_FALSE(token.stop_requested());
}

}  // namespace
}  // namespace pipeline
