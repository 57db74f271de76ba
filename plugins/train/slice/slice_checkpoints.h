// The checkpoints of a training on several hosts, as one host has and moves them: the parts on its own disk,
// and the objects that all hosts share. hosts/checkpoints.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/bucket_checkpoints.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/hosts/host_card.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/slice/part_sender.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// Every function may be called from any thread. On host 0 a thread writes the markers.
class SliceCheckpoints {
 public:
  /// All arguments outlive it. `before_mark`: called on host 0 before each marker is written.
  SliceCheckpoints(const TrainJob& job, const PluginServices& call, const RunDirectory& directory,
                   std::function<void()> before_mark = {});
  /// Both threads end at the same time; marks_, the last member, is joined first.
  ~SliceCheckpoints() { answers_.request_stop(); }

  /// The complete checkpoints of this host's own making, ascending, as Look saw them.
  std::vector<LocalCheckpoint> Local() const;
  /// Reads the disk again.
  void Look();
  /// Reads the disk again, and the markers when they are asked for: another host may have condemned one.
  void AttemptEnded();

  /// Asks for this host's part of the checkpoint to be sent. On host 0, its marker follows the last part.
  void Send(const LocalCheckpoint& checkpoint);
  /// The step of the newest marker, as host 0 knows it; -1: there is none.
  std::int64_t newest_marker() const { return marked_; }
  /// Another object of this program has written the marker of a checkpoint; on host 0 alone.
  void Marked(std::int64_t step) { marked_ = step; }
  /// Reads the markers if this object has not done so since the last attempt; on host 0 alone. kDataLoss:
  /// there are some, and all are damaged.
  Result<std::int64_t> FindNewestMarker();

  /// Before an attempt: downloads its checkpoint and the pinned ones. Chunks that a trainer asks for are
  /// fetched later. kCancelled once `given_up` returns true.
  Status Bring(const AttemptRecord& attempt, const std::function<bool()>& given_up);
  /// Answers the event `need` of a trainer, on a thread: CONTRACT.md, section 13. Needs of an attempt that is
  /// over are dropped.
  void Answer(const Json& need);

  /// The training has returned to this checkpoint, and left the later ones. On host 0 a thread removes their
  /// objects.
  void GoBack(std::int64_t step);

  /// After the last attempt: sends the newest checkpoint of this host, and marks it on host 0, for at most
  /// `grace`.
  void SendLast(std::chrono::nanoseconds grace);

  /// The bytes of checkpoints that this host fetched.
  std::uint64_t fetched() const { return fetched_; }

 private:
  /// The marker of the checkpoint of this step; kDataLoss: it is unusable now.
  Result<CheckpointMarker> MarkerOf(std::int64_t step);
  Status BringOne(const CheckpointMarker& marker, const std::function<bool()>& given_up);
  Status Install(const CheckpointMarker& marker, const std::string& incoming) const;
  /// True if `Install` has put this checkpoint on this disk; chunks may be there, too.
  bool IsInstalled(const CheckpointMarker& marker) const;
  void RemoveIncoming() const;
  void AnswerLoop(const std::stop_token& stop);
  Json FetchNeeded(const Json& need, const std::stop_token& stop);
  bool HasOwn(std::int64_t step) const;

  void MarkLoop(const std::stop_token& stop);
  /// Writes the marker if all parts are there.
  Status MarkSent(const LocalCheckpoint& checkpoint);
  /// Removes the checkpoints that the training left, once.
  Status RemoveLeft();
  /// The pins of this host's disk enter the markers.
  Status MarkPins();

  const TrainJob& job_;
  const PluginServices& call_;
  const RunDirectory& directory_;
  const PluginStorage& storage_;
  const std::function<void()> before_mark_;
  PartSender sender_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::vector<LocalPart> local_ GUARDED_BY(mutex_);
  std::vector<LocalCheckpoint> listed_ GUARDED_BY(mutex_);    // `local_` for the card
  std::deque<Json> needs_ GUARDED_BY(mutex_);                 // to be answered
  std::optional<LocalCheckpoint> send_ GUARDED_BY(mutex_);    // that host 0 marks next
  std::int64_t restored_ GUARDED_BY(mutex_) = -1;             // step of the running attempt
  std::optional<std::int64_t> went_back_ GUARDED_BY(mutex_);  // to this step; its later objects are there yet

  Mutex bucket_mutex_;
  BucketCheckpoints bucket_ GUARDED_BY(bucket_mutex_);
  std::map<std::int64_t, CheckpointMarker> markers_ GUARDED_BY(bucket_mutex_);  // by step: read or written
  bool looked_ GUARDED_BY(bucket_mutex_) = false;

  std::atomic<std::int64_t> marked_ = -1;
  std::atomic<std::uint64_t> fetched_ = 0;
  std::atomic<std::int64_t> attempt_ = 0;  // the newest that was brought
  Mutex fetch_mutex_;                      // one thread at a time fetches into the run directory
  std::jthread answers_;                   // last, like marks_: they use the others
  std::jthread marks_;
};

}  // namespace pipeline
