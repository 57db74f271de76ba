// Brings checkpoints to a bucket while the training goes on: CONTRACT.md, section 10.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "base/status.h"
#include "plugins/train/bucket_checkpoints.h"
#include "plugins/train/host_call.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// Has a thread of its own, which sends one checkpoint after the other; where several wait, the newest, and
/// the newest that is pinned under each name.
/// Committed and Finish are called by one thread.
class CheckpointMirror {
 public:
  /// All but `grace` outlive it; until Finish has returned `checkpoints` is this object's alone. `grace`:
  /// how long it may go on after the run was stopped.
  CheckpointMirror(BucketCheckpoints& checkpoints, const RunDirectory& directory, const HostCall& call,
                   std::chrono::nanoseconds grace);
  ~CheckpointMirror();
  CheckpointMirror(const CheckpointMirror&) = delete;
  CheckpointMirror& operator=(const CheckpointMirror&) = delete;

  /// The trainer has committed checkpoints/STEP of the run directory, or pinned it. Soon back: links, and
  /// sends nothing.
  void Committed(std::int64_t step) { Hand(step, false); }
  /// The trainer goes on from this checkpoint, and from none of the later ones.
  void WentBack(std::int64_t step) { Hand(step, true); }
  /// Until the last that was committed is in the bucket: OK, or why it is not. Called once; the other
  /// functions are not called any more.
  Status Finish();

 private:
  struct Handed {
    std::int64_t step = 0;
    std::string directory;  // of links, this one's alone: a step may be committed twice
    Json digests;           // what its files must be; null: nothing says so
    bool went_back = false;
  };
  void Hand(std::int64_t step, bool went_back);
  /// Those of `waiting_` that need not be sent any more: each is older than another that does for it.
  std::vector<Handed> TakeSuperseded() REQUIRES(mutex_);
  void Loop();
  void Fared(std::int64_t step, Status how);
  Status Send(const Handed& handed);
  /// The files as they are, held to what they must be.
  Status Measure(CheckpointMarker& marker, const Handed& handed) const;
  bool GivenUp();

  BucketCheckpoints& checkpoints_;
  const RunDirectory& directory_;
  const HostCall& call_;
  const std::chrono::nanoseconds grace_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Handed> waiting_ GUARDED_BY(mutex_);  // as they were handed over
  bool closing_ GUARDED_BY(mutex_) = false;
  std::int64_t last_step_ GUARDED_BY(mutex_) =
      -1;  // of the newest that was sent, or could not be, and how it fared
  Status last_ GUARDED_BY(mutex_);
  std::optional<std::chrono::nanoseconds> stopped_
      GUARDED_BY(mutex_);  // since when the run is seen to be stopped

  int handed_ = 0;  // so far, for the thread that calls Committed
  // For the thread alone:
  std::string committed_;  // path of the newest in the bucket
  std::optional<Handed>
      back_;             // what it went back to, until that is in the bucket and the later ones are not
  std::jthread thread_;  // last: it uses the others
};

}  // namespace pipeline
