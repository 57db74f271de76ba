// The trainer of one host, as the loop over all hosts uses it.
#pragma once

#include <optional>
#include <vector>

#include "plugins/train/hosts/host_card.h"
#include "plugins/train/hosts/restart_policy.h"

namespace pipeline {

/// Every function is called from the thread of the loop, and returns at once.
class SliceTrainer {
 public:
  virtual ~SliceTrainer() = default;

  /// Begins to fetch what this host lacks of the attempt's checkpoint, and then starts the trainer.
  virtual void Start(const AttemptRecord& attempt) = 0;
  /// Asks the trainer to save and to end.
  virtual void Stop() = 0;
  /// Ends it at once.
  virtual void Kill() = 0;
  /// How it ended, once; absent: it runs, or was not started.
  virtual std::optional<TrainerEnd> TakeEnd() = 0;
  /// The complete checkpoints on this host's disk.
  virtual std::vector<LocalCheckpoint> Local() = 0;
  /// Asks for this host's part of a checkpoint to be sent, if it is on this disk. Called again and again
  /// while the leader wants it; another one replaces it.
  virtual void Send(const LocalCheckpoint& checkpoint) = 0;

  /// A trainer of this host waits for files that its stage fetches.
  virtual bool Fetches() { return false; }
  /// True if the trainer of another host does so, for which this one may wait.
  virtual void OthersFetch(bool /*others*/) {}

  /// False: the trainers do not tell each other of a stop, so the trainer of each host is asked.
  virtual bool StopsTogether() { return true; }
  /// On the other hosts: whether the leader's trainer runs in the same attempt.
  virtual void LeaderTrains(bool /*leader*/) {}

  // On the leader alone:

  /// False: no attempt may begin yet.
  virtual bool Ready() { return true; }

  /// Fills in a coordinator of the trainers that is free now, and the digest of the rows.
  virtual void Complete(AttemptRecord& attempt) = 0;
  /// The consequence of an end of the trainers that no lost host caused.
  virtual RestartDecision Advise(const TrainerEnd& end) = 0;
  /// True if the last checkpoint has its marker, so that the result may be published.
  virtual bool MayPublish() = 0;
  /// Publishes the result. Called until it returns how the run ended.
  virtual std::optional<TrainingEnd> Publish() = 0;
};

}  // namespace pipeline
