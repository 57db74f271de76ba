#include "cli/tpu/slice_life.h"

#include <algorithm>

namespace pipeline {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = SliceAct::Kind;

void SliceLife::Asked(milliseconds now, bool answered) {
  if (answered)
    answered_ = true;
  else
    unanswered_ = now;
  if (!answered && !asking_) asking_ = now;
}

void SliceLife::Release(milliseconds now, std::string_view reason) {
  if (!reason_.empty()) return;
  reason_ = reason;
  leaving_ = now;
}

SliceAct SliceLife::Leave(milliseconds now, std::string_view reason) {
  Release(now, reason);
  return {Kind::kRelease, reason_};
}

SliceAct SliceLife::SeenLeaving(milliseconds now, SliceState state) {
  if (state != SliceState::kAbsent) {
    absent_.reset();
    if (now - leaving_ > times_.leaving) return {Kind::kGiveUp, reason_};
    return {state == SliceState::kLeaving ? Kind::kLook : Kind::kRelease, reason_};
  }
  if (!absent_) absent_ = now;
  const bool may_come = unanswered_ && now - *unanswered_ < times_.late();
  return {now - *absent_ >= times_.gone() && !may_come ? Kind::kGone : Kind::kLook, reason_};
}

SliceAct SliceLife::Seen(milliseconds now, SliceState state) {
  if (!reason_.empty()) return SeenLeaving(now, state);
  if (state != SliceState::kAbsent) seen_ = true;
  switch (state) {
    case SliceState::kAbsent:
      if (seen_ || answered_) {
        // An answered request makes a machine, which one look may miss.
        if (!absent_) absent_ = now;
        return now - *absent_ >= times_.gone() ? Leave(now, kLostSlice) : SliceAct{};
      }
      if (asking_ && now - *asking_ > times_.coming) return Leave(now, kLateSlice);
      return {Kind::kAsk};
    case SliceState::kQueued:
      if (!waiting_) waiting_ = now;
      absent_.reset();
      return now - *waiting_ > wait_ ? Leave(now, kNoCapacity) : SliceAct{};
    case SliceState::kComing:
      if (!coming_) coming_ = now;
      absent_.reset();
      return now - *coming_ > times_.coming ? Leave(now, kLateSlice) : SliceAct{};
    case SliceState::kReady: return {Kind::kReady};
    case SliceState::kLost:
    case SliceState::kLeaving: break;
  }
  return Leave(now, kLostSlice);
}

seconds RoundPause(std::uint64_t rounds) {
  constexpr std::uint64_t kMostMinutes = 30, kMostDoublings = 5;
  const std::uint64_t minutes = std::uint64_t{1} << std::min(rounds - 1, kMostDoublings);
  return seconds(std::min(minutes, kMostMinutes) * 60);
}

}  // namespace pipeline
