// What a person sees of a training while it goes on: one line that moves, and a few that stay.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"
#include "plugins/train/host_call.h"

namespace pipeline {

/// One thread. `call` outlives it.
class Narrator {
 public:
  Narrator(const HostCall& call, std::int64_t steps) : call_(call), steps_(steps) {}

  void Hear(const Json& event);
  /// A line that stays, unless too many come at once.
  void Note(std::string_view text);

 private:
  void Progress(const Json& event);
  void Phase(const Json& event);
  void Move(std::int64_t step, std::string_view text);
  void Evaluated(const Json& event);

  const HostCall& call_;
  const std::int64_t steps_;
  std::int64_t step_ = 0;  // the last that was heard of
  double bigram_ = 0;      // bits per character of the best baseline; 0: not heard of
  int warnings_ = 0;
  std::chrono::nanoseconds second_{0};  // when the second began that `notes_` are counted in
  int notes_ = 0;
};

}  // namespace pipeline
