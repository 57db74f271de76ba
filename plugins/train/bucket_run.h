// A run located in a bucket: synchronises it with the run directory on this machine. CONTRACT.md, section
// 10.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/bucket_checkpoints.h"
#include "plugins/train/checkpoint_mirror.h"
#include "plugins/train/journal_mirror.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// One thread.
class BucketRun {
 public:
  /// All arguments outlive it.
  BucketRun(const TrainJob& job, const RunDirectory& directory, const PluginServices& call);

  /// The complete publication of an earlier run whose job is like `job_file`: result.json, and the names of
  /// the objects.
  struct Published {
    Json result;
    std::vector<std::string> objects;
  };
  Result<std::optional<Published>> FindPublished(const Json& job_file) const;

  /// result.json in the bucket; null: there is none.
  Result<Json> ReadResult() const;
  /// True if a checkpoint is in the bucket, usable or not, in either form.
  Result<bool> HasCheckpoint();

  /// Compares the local checkpoints with those in the bucket, which decides. True: the run directory can be
  /// resumed as it is; false: call Restore first. If the bucket was emptied, the directory is emptied, too.
  Result<bool> LocalIsGood();
  /// Downloads the newest usable checkpoint and the pinned ones.
  Status Restore();

  /// As BringFromRun, into the run directory; the mirror sends it.
  Result<bool> TakeFrom(const std::string& uri, std::int64_t step);

  /// Publishes the job, and from now on uploads events, curves and logs: JournalMirror.
  Status BeginJournal(const Json& job_file);
  /// Sends what is there now, if BeginJournal has begun. Any thread.
  void SendJournal() {
    if (journal_) journal_->Send();
  }
  /// Sends the last of them. False: the stop leaves no time for it.
  void FinishJournal(bool sends = true) {
    if (journal_ && !sends) journal_->Leave();
    journal_.reset();
  }

  /// After BeginJournal. From now on uploads each checkpoint that the trainer commits.
  Status BeginMirror();
  /// Obeys an event of the first worker.
  void Hear(const Json& event);
  /// Call after BeginMirror. Waits until the last checkpoint is in the bucket.
  Status FinishMirror();

  /// Publishes the artifact of the run directory in the bucket; result.json last.
  Status Publish(const std::vector<std::string>& objects, const Json& job_file) const;

 private:
  /// Publishes the job for who looks at a training that goes on.
  void PublishJob(const Json& job_file) const;
  /// Sets the status line.
  void Say(std::string_view what) const;
  /// The steps of the finished local checkpoints, ascending.
  std::vector<std::int64_t> LocalSteps() const;
  std::int64_t NewestLocal() const;
  /// Removes the checkpoints of which this machine has a part as one of several hosts: a single host can use
  /// none of them.
  Status RemoveParts() const;
  /// Empties the run directory, except for files of this machine only and names that begin with `but`.
  Status Empty(const std::string& but) const;
  /// Downloads the newest usable candidate.
  Result<CheckpointMarker> FetchNewest();
  /// Adds the pinned checkpoints that are older than the first of `fetched`; skips unusable ones.
  Status FetchPinned(std::vector<CheckpointMarker>& fetched);
  /// Downloads the checkpoint into a directory of its own. Absent: it is damaged, and a warning says so with
  /// `if_damaged`.
  Result<std::optional<CheckpointMarker>> Fetch(const CheckpointName& name, std::string_view if_damaged);
  Status Install(const CheckpointMarker& fetched) const;
  /// The steps whose local pins are not in the bucket yet.
  Result<std::vector<std::int64_t>> UnsentPins();

  const TrainJob& job_;
  const RunDirectory& directory_;
  const PluginServices& call_;
  const PluginStorage& storage_;
  BucketCheckpoints checkpoints_;
  std::vector<CheckpointName> candidates_;  // in the bucket, newest first
  bool unsent_ = false;                     // the newest local checkpoint is not in the bucket
  std::unique_ptr<JournalMirror> journal_;
  std::unique_ptr<CheckpointMirror> mirror_;  // behind journal_, which it uses
};

/// `job_file` as published: with the locations of the request, and no path of this machine.
Json PublishedJob(Json job_file, const TrainJob& job);
/// Equal for two jobs that differ only in their number of steps, threads, traces and locations.
Json WithoutExtent(Json job_file);

}  // namespace pipeline
