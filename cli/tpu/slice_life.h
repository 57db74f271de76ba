// Decisions about the machine of one attempt, without I/O and clock: cli/tpu/tpu.md, "Life"
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/tpu/slice_cloud.h"

namespace pipeline {

/// Bounds of the waits.
struct SliceTimes {
  std::chrono::milliseconds look{15'000};        // between two looks
  std::chrono::milliseconds coming{1'800'000};   // a machine is made
  std::chrono::milliseconds leaving{1'800'000};  // a machine is deleted

  /// The time between two looks that find nothing, after which there is nothing.
  std::chrono::milliseconds gone() const { return 2 * look; }
  /// A request without an answer may still arrive.
  std::chrono::milliseconds late() const { return 8 * look; }
};

/// The next thing to do.
struct SliceAct {
  enum class Kind : std::uint8_t {
    kAsk,      // send the request that creates the machine
    kLook,     // look again after SliceTimes::look
    kReady,    // the slice can be used
    kRelease,  // delete it; the attempt ends with `reason`
    kGone,     // write the end
    kGiveUp,   // it cannot be deleted
  };
  Kind kind = Kind::kLook;
  std::string_view reason = {};  // SliceEnd::reason
};

/// One attempt. Times are those since it began, by one clock of this machine.
class SliceLife {
 public:
  /// `wait`: the most time in the queue.
  SliceLife(const SliceTimes& times, std::chrono::milliseconds wait) : times_(times), wait_(wait) {}

  /// The request that creates the machine was sent. `answered`: it was taken, or the machine is there.
  void Asked(std::chrono::milliseconds now, bool answered);
  /// The attempt ends: the machine is deleted whatever its state is.
  void Release(std::chrono::milliseconds now, std::string_view reason);
  /// Decides after a look.
  SliceAct Seen(std::chrono::milliseconds now, SliceState state);

 private:
  SliceAct Leave(std::chrono::milliseconds now, std::string_view reason);
  SliceAct SeenLeaving(std::chrono::milliseconds now, SliceState state);

  const SliceTimes times_;
  const std::chrono::milliseconds wait_;
  bool answered_ = false;                                      // a request was
  bool seen_ = false;                                          // the machine was there
  std::optional<std::chrono::milliseconds> asking_;            // the first request without an answer
  std::optional<std::chrono::milliseconds> unanswered_;        // the last request without an answer
  std::optional<std::chrono::milliseconds> waiting_, coming_;  // since when
  std::string_view reason_;                                    // of its end; empty: none yet
  std::chrono::milliseconds leaving_{0};                       // since when, with a reason
  std::optional<std::chrono::milliseconds> absent_;            // since when no look has found it
};

/// The reasons of ends.
inline constexpr std::string_view kNoCapacity = "capacity", kLostSlice = "lost", kLateSlice = "late",
                                  kDownSlice = "down", kRefusedSlice = "refused";

/// The pause before the first zone is tried again, after `rounds` of all zones without capacity, 1 or more.
std::chrono::seconds RoundPause(std::uint64_t rounds);

}  // namespace pipeline
