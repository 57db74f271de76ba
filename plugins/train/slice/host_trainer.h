// The trainers of this host in a training on several hosts: fetches, starts, ends and restarts them on the
// wish of `SliceLoop`. hosts/hosts.md; CONTRACT.md, section 13.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "plugins/train/attempt_runner.h"
#include "plugins/train/hosts/slice_trainer.h"
#include "plugins/train/prepared_training.h"
#include "plugins/train/slice/external_host.h"
#include "plugins/train/slice/slice_checkpoints.h"

namespace pipeline {

/// The thread of the loop calls its functions; each attempt and the publication have a thread of their own.
class HostTrainer final : public SliceTrainer {
 public:
  struct Run {
    const PreparedTraining& training;
    std::string data_digest;  // of the manifest of the rows
    Json job_file;
    ExternalHost* external = nullptr;  // null: the bundled trainer
  };
  /// All arguments outlive it. The bucket of the training publishes, on host 0.
  HostTrainer(const Run& run, SliceCheckpoints& checkpoints);
  /// Ends the trainers at once.
  ~HostTrainer() override;

  void Start(const AttemptRecord& attempt) override;
  void Stop() override;
  void Kill() override { wish_ = Wish::kKill; }
  std::optional<TrainerEnd> TakeEnd() override;
  std::vector<LocalCheckpoint> Local() override { return checkpoints_.Local(); }
  void Send(const LocalCheckpoint& checkpoint) override { checkpoints_.Send(checkpoint); }
  bool Fetches() override { return fetching_ > 0; }
  void OthersFetch(bool others) override { others_fetch_ = others; }
  bool Ready() override { return rows_ == nullptr || rows_->ChecksumsEnded().has_value(); }
  bool StopsTogether() override { return run_.external == nullptr; }
  void LeaderTrains(bool leader) override { leader_trains_ = leader; }

  void Complete(AttemptRecord& attempt) override;
  RestartDecision Advise(const TrainerEnd& end) override;
  bool MayPublish() override;
  std::optional<TrainingEnd> Publish() override;

  /// The objects of the published artifact.
  const std::vector<std::string>& objects() const { return objects_; }

 private:
  /// On the thread of the attempt.
  TrainerEnd RunAttempt(const AttemptRecord& attempt);
  /// The same of an external trainer.
  TrainerEnd RunProgram(const AttemptRecord& attempt, AttemptStart& start);
  Status Prepare(const AttemptRecord& attempt);
  void Hear(const Json& event);
  TrainingEnd PublishNow();

  const Run run_;
  const PreparedTraining& training_;
  const TrainJob& job_;
  const RunDirectory& directory_;
  RowSupply* const rows_;  // null: the rows are where all hosts see them
  SliceCheckpoints& checkpoints_;
  AttemptRunner runner_;  // the thread of the attempt uses it
  RestartPolicy policy_;
  std::atomic<Wish> wish_{Wish::kGoOn};
  std::set<std::int64_t> waiting_;         // workers in the phase `fetch`; for the thread of the attempt
  std::atomic<std::size_t> fetching_ = 0;  // their number
  std::atomic<bool> others_fetch_ = false;
  std::atomic<bool> leader_trains_ = false;

  Mutex mutex_;
  std::optional<TrainerEnd> end_ GUARDED_BY(mutex_);
  std::optional<TrainingEnd> published_ GUARDED_BY(mutex_);
  std::vector<std::string> objects_;  // written before `published_`, read after it
  std::jthread attempt_;
  std::jthread publication_;  // joined in the destructor, like attempt_
};

}  // namespace pipeline
