// Turns the output of a program into events: external.md, section 3.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "plugins/train/external/external_settings.h"

namespace pipeline {

/// Feed is for one thread, Take for another; End is for either, after the last Feed.
class OutputRecogniser {
 public:
  /// `settings` outlives it. `log_every`: the steps between two events, unless a second has passed.
  OutputRecogniser(const ExternalSettings& settings, std::int64_t log_every)
      : settings_(settings), log_every_(log_every) {}

  /// Bytes of the output, which arrived at `now` on a monotonic clock.
  void Feed(std::string_view bytes, std::chrono::nanoseconds now);

  /// A step and its loss that were found elsewhere; a sign of life, too. For the thread of Feed or another.
  void Hear(std::int64_t step, double loss, std::chrono::nanoseconds now);

  /// The output has ended: an unfinished line counts, and the last step is told in any case.
  void End(std::chrono::nanoseconds now);

  struct Step {
    std::int64_t step = 0;
    std::optional<double> loss;
  };
  /// All losses so far, also those of steps that are left out.
  struct Losses {
    double last = 0;
    std::int64_t at = -1;            // the step of `last`; -1: there was none
    std::int64_t longest = 1;        // the most steps between two of them
    std::int64_t broken_since = -1;  // the first step from which on none is finite; -1: `last` is
  };
  struct Heard {
    bool lines = false;      // the output moved since the last call
    std::int64_t step = -1;  // the current one; -1: none was recognised
    Losses losses;
    std::vector<Step> steps;  // at most kMostSteps, the newest last
  };
  static constexpr std::size_t kMostSteps = 256;
  /// Everything since the last call.
  Heard Take();

 private:
  void Line(std::string_view line, std::chrono::nanoseconds now) REQUIRES(mutex_);
  void Add(std::optional<double> loss, std::chrono::nanoseconds now) REQUIRES(mutex_);
  void Tell(const Step& step, std::chrono::nanoseconds now) REQUIRES(mutex_);

  const ExternalSettings& settings_;
  const std::int64_t log_every_;
  std::string rest_;  // the beginning of an unfinished line; only for the thread of Feed

  Mutex mutex_;
  Heard heard_ GUARDED_BY(mutex_);
  std::int64_t told_ GUARDED_BY(mutex_) = -1;  // step of the last event; -1: none
  std::chrono::nanoseconds told_at_ GUARDED_BY(mutex_){0};
  std::optional<Step> left_out_ GUARDED_BY(mutex_);  // the newest, if it came too early after the last event
};

}  // namespace pipeline
