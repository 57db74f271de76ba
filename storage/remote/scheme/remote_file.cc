#include "storage/remote/scheme/remote_file.h"

namespace pipeline {

namespace {

/// Somebody waits for the plan: a host that was mistyped should not take minutes to be told.
constexpr RetryPolicy kPlanPolicy{.first = std::chrono::milliseconds(500),
                                  .longest = std::chrono::milliseconds(2'000),
                                  .attempts = 3,
                                  .patience = std::chrono::milliseconds(4'000)};

/// As rate-limited as any; only soon at its end.
constexpr RetryPolicy kNextPolicy{.attempts = 2, .patience = std::chrono::milliseconds(10'000)};

}  // namespace

RetryPolicy PolicyOf(const RemoteAsk& ask) {
  switch (ask.patience) {
    case Patience::kPlan: return kPlanPolicy;
    case Patience::kNext: return kNextPolicy;
    case Patience::kRun: break;
  }
  return {.attempts = 1, .patience = ask.silence};
}

}  // namespace pipeline
