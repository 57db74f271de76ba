// A run whose place is a bucket: what lies there, and what of it this machine has. CONTRACT.md, section 10.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/bucket_checkpoints.h"
#include "plugins/train/checkpoint_mirror.h"
#include "plugins/train/host_call.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// One thread.
class BucketRun {
 public:
  /// All outlive it.
  BucketRun(const TrainJob& job, const RunDirectory& directory, const HostCall& call);

  /// What an earlier run published, where that is all of it and by a job like `job_file`: result.json, with
  /// the names of the objects in `objects`.
  struct Published {
    Json result;
    std::vector<std::string> objects;
  };
  Result<std::optional<Published>> FindPublished(const Json& job_file) const;

  /// Holds the local checkpoints against those in the bucket, which decides. True: the run directory is good
  /// to go on in as it is; false: Restore comes first. Where the bucket was emptied, so is the directory.
  Result<bool> LocalIsGood();
  /// Brings the newest checkpoint that can be used, and those that are pinned.
  Status Restore();

  /// From now on what the trainer commits is brought to the bucket.
  Status BeginMirror();
  void Committed(std::int64_t step) { mirror_->Committed(step); }
  void WentBack(std::int64_t step) { mirror_->WentBack(step); }
  /// Until the last checkpoint is in the bucket, after BeginMirror.
  Status FinishMirror();

  /// Makes the artifact of the run directory that of the bucket; result.json last.
  Status Publish(const std::vector<std::string>& objects, const Json& job_file) const;

 private:
  /// Of the finished checkpoints on this machine, in order.
  std::vector<std::int64_t> LocalSteps() const;
  std::int64_t NewestLocal() const;
  /// But what is this machine's own, and names that begin with `but`.
  Status Empty(const std::string& but) const;
  struct Incoming {
    CheckpointName name;
    CheckpointMarker marker;
  };
  /// The newest candidate that can be used.
  Result<Incoming> FetchNewest();
  /// The pinned ones but that; absent those that cannot be used.
  Status FetchPinned(std::vector<Incoming>& fetched);
  /// Its files, in a directory of their own.
  Result<CheckpointMarker> Fetch(const CheckpointName& name);
  Status Install(const Incoming& fetched) const;
  /// Steps that this machine has pinned and the bucket has not.
  Result<std::vector<std::int64_t>> UnsentPins();

  const TrainJob& job_;
  const RunDirectory& directory_;
  const HostCall& call_;
  const HostStorage storage_;
  BucketCheckpoints checkpoints_;
  std::vector<CheckpointName> candidates_;  // in the bucket, newest first; those before next_ are of no use
  std::size_t next_ = 0;
  bool unsent_ = false;  // the newest local one is not in the bucket
  std::unique_ptr<CheckpointMirror> mirror_;
};

/// `job_file` as it is published: places as the request names them, and none of this machine.
Json PublishedJob(Json job_file, const TrainJob& job);
/// Equal for two jobs that differ only in how far they go, on how many threads, and where things lie.
Json WithoutExtent(Json job_file);

}  // namespace pipeline
