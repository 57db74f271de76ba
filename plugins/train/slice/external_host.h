// An external trainer on one of several hosts: its checkpoints between the hosts, and the end of its
// attempts. external/external.md, section 6.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/bucket_checkpoints.h"
#include "plugins/train/checkpoint_mirror.h"
#include "plugins/train/hosts/host_card.h"
#include "plugins/train/prepared_training.h"
#include "plugins/train/slice/slice_checkpoints.h"

namespace pipeline {

/// The thread of an attempt calls Start, Begin, Hear and End; the others may be called from any thread.
class ExternalHost {
 public:
  /// Both arguments outlive it. `training` has an external trainer; `checkpoints` learns which ones host 0
  /// has sent.
  ExternalHost(const PreparedTraining& training, SliceCheckpoints& checkpoints)
      : training_(training), job_(training.job), program_(*training.external), checkpoints_(checkpoints) {}

  /// Before all of an attempt: what is new counts from here.
  void Start() { before_ = newest_.load(); }
  /// The command of the attempt, whose checkpoint lies in checkpoints/ already unless all see one directory.
  /// The result refers to this object until End.
  Result<ProgramStart> Begin(const AttemptRecord& attempt);
  /// On host 0, a checkpoint is sent from now on.
  void Hear(const Json& event);
  /// The meaning of the end for all hosts. On host 0 it first waits until the last checkpoint is sent.
  Result<TrainerEnd> End(TrainerEnd ended);

  bool shared() const { return program_.shared(); }
  /// The step of the newest checkpoint that host 0 knows; -1: none.
  std::int64_t newest() const { return newest_; }
  /// Whether host 0 saw a new checkpoint since the last Start.
  bool progressed() const { return newest_ > before_; }

 private:
  const PreparedTraining& training_;
  const TrainJob& job_;
  ExternalTraining& program_;
  SliceCheckpoints& checkpoints_;
  std::optional<BucketCheckpoints> bucket_;   // of the running attempt on host 0, as the next
  std::unique_ptr<CheckpointMirror> mirror_;  // null: nothing is sent
  std::atomic<std::int64_t> newest_ = -1, before_ = -1;
};

}  // namespace pipeline
