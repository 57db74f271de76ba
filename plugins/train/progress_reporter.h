// Shows the user a running training: one progress line, and a few lines that stay.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "plugins/native/services.h"

namespace pipeline {

/// One thread. `call` outlives it.
class ProgressReporter {
 public:
  ProgressReporter(const PluginServices& call, std::int64_t steps) : call_(call), steps_(steps) {}

  void Hear(const Json& event);
  /// Prints a line that stays, unless too many arrive at once.
  void Note(std::string_view text);

 private:
  /// A step and the time at which it was told, in seconds.
  struct Mark {
    double at = 0;
    std::int64_t step = 0;
  };
  void Phase(const Json& event);
  void BeginSteps(const Json& event);
  void Steps(const Json& event);
  void Move(std::int64_t step, std::string_view text);
  void Evaluated(const Json& event);
  void Priced(const Json& event);

  const PluginServices& call_;
  const std::int64_t steps_;
  std::int64_t step_ = 0;   // the last step reported
  bool steps_run_ = false;  // the phase is that of steps
  Mark older_, newer_;      // the time of a step is measured from `older_`, which is a minute or two old
  double step_time_ = 0;    // seconds; 0: unknown
  std::string numbers_;     // of the last event `step`
  std::int64_t numbers_of_ = 0;
  double bigram_ = 0;  // bits per character of the best baseline; 0: unknown
  int warnings_ = 0;
  std::chrono::nanoseconds second_{0};  // start of the second that `notes_` counts
  int notes_ = 0;
};

}  // namespace pipeline
