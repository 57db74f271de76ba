#include "plugins/train/watchdog.h"

#include <algorithm>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

using std::chrono::seconds;

constexpr seconds kInit{600};
constexpr seconds kPhase{1800};  // compile, eval, checkpoint and all others
constexpr seconds kFirstStep{600};
constexpr seconds kLeastStep{120};
constexpr int kStepTimes = 20;
constexpr seconds kSilence{60};
constexpr std::size_t kStrides = 33;  // that a median is taken of
constexpr std::size_t kLeastStrides = 3;

std::string Seconds(Watchdog::Time time) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return millis < 10'000 ? StrCat(millis, " ms") : StrCat(millis / 1000, " s");
}

}  // namespace

Watchdog::Watchdog(double patience, Time now)
    : patience_(patience), phase_began_(now), heard_(now), advanced_(now) {}

Watchdog Watchdog::ForSilence(seconds silence, Time now) {
  Watchdog dog(1, now);
  dog.silence_ = silence;
  dog.phase_ = "step";  // a program tells no phases
  return dog;
}

void Watchdog::Hear(const Json& event, Time now) {
  heard_ = now;
  spoke_ = true;
  const std::string_view kind = event["kind"].AsString();
  if (kind == "ckpt_begin") save_began_ = now;
  if (kind == "ckpt_commit" && save_began_)
    save_time_ = std::max(save_time_.value_or(Time(0)), now - *std::exchange(save_began_, std::nullopt));
  if (kind == "phase") {
    phase_ = event["name"].AsString("init").substr(0, 32);
    phase_began_ = now;
    advanced_ = now;
  }
  if (event["step"].is_int()) Advance(event["step"].AsInt(), now);
}

void Watchdog::Advance(std::int64_t step, Time now) {
  if (step == step_) return;
  // A rewind goes back: it counts as movement, too, but it is no measure of a step.
  if (step_ >= 0 && step > step_ && phase_ == "step") {
    if (strides_.size() == kStrides) strides_.erase(strides_.begin());
    strides_.push_back({now - advanced_, step - step_});
  }
  step_ = step;
  advanced_ = now;
}

Watchdog::Time Watchdog::Scaled(seconds limit) const {
  return Time(static_cast<std::int64_t>(patience_ * static_cast<double>(Time(limit).count())));
}

Watchdog::Time Watchdog::Median(const std::function<Time(const Stride&)>& of) const {
  std::vector<Time> times;
  for (const Stride& stride : strides_) times.push_back(of(stride));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

Watchdog::Time Watchdog::StepLimit() const {
  if (strides_.size() < kLeastStrides) return Scaled(kFirstStep);
  return std::max(Scaled(kLeastStep), kStepTimes * Median([](const Stride& stride) { return stride.time; }));
}

Watchdog::Time Watchdog::StepTime(Time now) const {
  if (strides_.size() < kLeastStrides) {
    // The first steps of a program may have its start in them.
    if (silence_) return Time(0);
    Time longest = phase_ == "step" ? now - advanced_ : Time(0);
    for (const Stride& stride : strides_) longest = std::max(longest, stride.time / stride.steps);
    return longest;
  }
  return Median([](const Stride& stride) { return stride.time / stride.steps; });
}

std::optional<std::string> Watchdog::Hangs(Time now) const {
  if (silence_) {
    if (now - heard_ <= *silence_) return std::nullopt;
    return StrCat("wrote no line and no checkpoint for ", Seconds(now - heard_), " (`silence`)");
  }
  if (spoke_ && now - heard_ > Scaled(kSilence))
    return StrCat("said nothing for ", Seconds(now - heard_), " in phase '", phase_, "'");
  if (phase_ == "step") {
    if (now - advanced_ <= StepLimit()) return std::nullopt;
    return StrCat("stayed at step ", step_ < 0 ? std::string("0") : StrCat(step_), " for ",
                  Seconds(now - advanced_));
  }
  if (phase_ == "wait" || phase_ == "fetch") return std::nullopt;  // others decide how long
  const Time limit = Scaled(phase_ == "init" ? kInit : kPhase);
  if (now - phase_began_ <= limit) return std::nullopt;
  return StrCat("was in phase '", phase_, "' for ", Seconds(now - phase_began_));
}

}  // namespace pipeline
