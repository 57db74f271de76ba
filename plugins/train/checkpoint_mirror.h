// Uploads checkpoints to a bucket during the training: CONTRACT.md, section 10.
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
#include "plugins/native/services.h"
#include "plugins/train/bucket_checkpoints.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// A thread sends one checkpoint at a time; if several wait, it sends only the newest, and the newest for
/// each pin name. One thread calls Committed, WentBack and Finish.
class CheckpointMirror {
 public:
  /// All arguments except `grace` outlive it; until Finish returns, only this object uses `checkpoints`.
  /// `grace`: how long it may continue after the run was stopped; absent: kLeastGrace after
  /// Finish. Both are called on the thread: `before` before the marker of a checkpoint is written, `sent`
  /// behind it with the step.
  CheckpointMirror(BucketCheckpoints& checkpoints, const RunDirectory& directory, const PluginServices& call,
                   std::optional<std::chrono::nanoseconds> grace, std::function<void()> before = {},
                   std::function<void(std::int64_t step)> sent = {});
  ~CheckpointMirror();
  CheckpointMirror(const CheckpointMirror&) = delete;
  CheckpointMirror& operator=(const CheckpointMirror&) = delete;

  /// The trainer has committed or pinned checkpoints/STEP of the run directory. Returns quickly: it makes
  /// links and sends nothing.
  void Committed(std::int64_t step) { Hand(step, false); }
  /// The trainer resumes from this checkpoint and abandons the later ones.
  void WentBack(std::int64_t step) { Hand(step, true); }
  /// Waits until the last committed checkpoint is in the bucket; returns OK or the error. Call it once,
  /// after all other calls.
  Status Finish();

 private:
  struct Handed {
    std::int64_t step = 0;
    std::string directory;  // of links, used by this entry only: a step may be committed twice
    Json digests;           // expected files; null: unknown
    bool went_back = false;
  };
  void Hand(std::int64_t step, bool went_back);
  /// Removes and returns the entries of `waiting_` that a newer entry replaces.
  std::vector<Handed> TakeSuperseded() REQUIRES(mutex_);
  void Loop();
  void Fared(std::int64_t step, Status how);
  Status Send(const Handed& handed);
  /// Measures the files and compares them with the expected digests.
  Status Measure(CheckpointMarker& marker, const Handed& handed) const;
  bool GivenUp();
  void LookForStop() REQUIRES(mutex_);

  BucketCheckpoints& checkpoints_;
  const RunDirectory& directory_;
  const PluginServices& call_;
  const bool from_stop_;  // `grace_` counts from the stop, not from Finish
  const std::chrono::nanoseconds grace_;
  const std::function<void()> before_;
  const std::function<void(std::int64_t step)> sent_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Handed> waiting_ GUARDED_BY(mutex_);  // in the order of the calls
  bool closing_ GUARDED_BY(mutex_) = false;
  std::int64_t last_step_ GUARDED_BY(mutex_) = -1;  // the newest that was sent or failed; outcome: `last_`
  Status last_ GUARDED_BY(mutex_);
  /// When `grace_` began.
  std::optional<std::chrono::nanoseconds> stopped_ GUARDED_BY(mutex_);

  int handed_ = 0;  // count, for the thread that calls Committed
  // Only for the sending thread:
  std::string committed_;  // path of the newest checkpoint in the bucket
  /// The checkpoint that the trainer went back to, until it is sent and the later ones are removed.
  std::optional<Handed> back_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace pipeline
