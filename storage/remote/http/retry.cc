#include "storage/remote/http/retry.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "base/attendance.h"
#include "base/log.h"
#include "base/str.h"
#include "base/wait.h"

namespace pipeline {

namespace {

class RealPause final : public Pause {
 public:
  Status For(std::chrono::milliseconds time, std::stop_token stop) override {
    if (WaitFor(time, std::move(stop))) return {};
    return Status(Code::kCancelled, "was stopped between two attempts");
  }
};

/// An attempt that fails soon is told if the next one begins later than this after the first: shorter
/// hiccups are nobody's business.
constexpr std::chrono::milliseconds kToldAfter{1'500};
constexpr std::chrono::milliseconds kBetweenWords{5'000};

std::int64_t SecondsUp(std::chrono::milliseconds time) {
  return std::chrono::ceil<std::chrono::seconds>(time).count();
}

/// This is splitmix64: every seed is good, also one that differs from another in one bit.
std::uint64_t NextRandom(std::uint64_t& state) {
  std::uint64_t mixed = state += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Pause& SystemPause() {
  static RealPause pause;
  return pause;
}

std::uint64_t JitterSeed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

Retry::Retry(const RetryMeans& means) : Retry(means.policy, *means.clock, *means.pause, JitterSeed()) {}

Retry::Retry(const RetryPolicy& policy, const Clock& clock, Pause& pause, std::uint64_t seed)
    : policy_(policy), clock_(clock), pause_(pause), state_(seed), since_(clock.Monotonic()) {}

void Retry::Progress() {
  failed_ = 0;
  paused_ = std::chrono::milliseconds(0);
  told_ = std::chrono::milliseconds(0);
  since_ = clock_.Monotonic();
}

Status Retry::Again(Status failure, std::optional<std::chrono::milliseconds> asked, std::stop_token stop) {
  using std::chrono::milliseconds;
  ++failed_;
  // The pauses count by themselves: if a clock stands still while its machine is suspended, patience still
  // ends.
  const auto elapsed = std::chrono::duration_cast<milliseconds>(clock_.Monotonic() - since_);
  const milliseconds waited = std::max(elapsed, paused_);
  const auto tried = [&](std::string_view why) {
    std::string words(failure.message());
    if (failed_ > 1) words += StrCat(" (tried ", failed_, " times in ", waited.count() / 1000, " s)");
    return std::move(failure).Reword(StrCat(words, why));
  };
  const std::shared_ptr<AttendedWait> attended = PresentWait();
  const auto* const same = failure.Detail<SameAnswer>();
  const bool is_over = (failed_ >= policy_.attempts && waited >= policy_.patience) ||
                       (attended && same != nullptr && failed_ >= same->attempts);
  if (failure.code() != Code::kUnavailable || is_over) return tried("");
  const milliseconds left = attended ? attended->times().patience - waited : milliseconds::max();
  milliseconds pause = policy_.longest;
  if (failed_ < 32) pause = std::min(pause, policy_.first * (std::int64_t{1} << (failed_ - 1)));
  if (asked && *asked > std::min(left, std::max(policy_.patience, policy_.longest)))
    return tried(
        StrCat("; the server asks to be left alone for ", asked->count() / 1000, " s: run again then"));
  // The pause is from the whole range, not from its upper half, because many clients that failed at once must
  // not return at once.
  const auto range = static_cast<std::uint64_t>(std::max<std::int64_t>(pause.count(), 0)) + 1;
  pause = asked ? *asked : milliseconds(NextRandom(state_) % range);
  if (attended && !asked) pause = std::min(pause, attended->times().longest_pause);
  if (pause >= left) return tried("");
  paused_ += pause;
  if (!attended) return pause_.For(pause, std::move(stop));
  if (waited + pause >= kToldAfter && (told_.count() == 0 || waited - told_ >= kBetweenWords)) {
    told_ = waited + pause;
    LogWarning(StrCat(failure.message(), "; next try in ", SecondsUp(pause), " s, given up in ",
                      SecondsUp(left), " s"));
  }
  const EitherStop either(std::move(stop), attended->stop());
  return pause_.For(pause, either.token());
}

}  // namespace pipeline
