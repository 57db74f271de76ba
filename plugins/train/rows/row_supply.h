// The rows of a training on the disk of this host: all of them, or those that the trainer reads next.
// rows.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/rows/fetch_planner.h"
#include "plugins/train/rows/row_blocks.h"
#include "plugins/train/rows/row_checksums.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// Uses the directory of the rows while it exists, alone if it fetches blocks. Any thread may call its
/// functions; threads of its own fetch blocks.
class RowSupply {
 public:
  using FreeBytes = std::function<Result<std::uint64_t>(const std::string& directory)>;

  /// Fetches all rows of `job`, which are elsewhere, or all objects but the shards of the split `train`, as
  /// `data_disk` says; pairs of write_bert as a whole. kResourceExhausted names the need if nothing fits.
  /// `job` and `call` outlive the result.
  static Result<std::unique_ptr<RowSupply>> Open(const TrainJob& job, const PluginServices& call,
                                                 const FreeBytes& free_bytes = FreeBytesAt);
  ~RowSupply();
  RowSupply(const RowSupply&) = delete;
  RowSupply& operator=(const RowSupply&) = delete;

  const std::string& directory() const { return copy_.directory; }
  /// The directory of the blocks; empty: all rows are here.
  const std::string& blocks_directory() const { return blocks_directory_; }
  /// kResourceExhausted: rows are fetched in blocks, and an external trainer reads files.
  Status CheckWhole() const;

  /// On host 0, once: begins to make sure that the checksums of the ranges, if there are any, are below RUN.
  /// A failure that may pass is tried again.
  void BeginChecksums();
  /// How it ended; absent: it has not ended.
  std::optional<Status> ChecksumsEnded() const;
  /// Waits for its end.
  Status AwaitChecksums() const;

  /// Before an attempt: compares the ranges that an earlier start left, and forgets what workers wanted.
  /// kCancelled once `given_up` returns true.
  Status BeginAttempt(const std::function<bool()>& given_up);
  /// Obeys the event `rows` of a worker of the attempt.
  void Hear(const Json& event);

  /// Writes a log line. Returns an event for the journal.
  Json Report() const;
  std::uint64_t fetched() const { return fetched_; }
  /// The most bytes of rows that were on the disk at a time.
  std::uint64_t peak() const;

 private:
  RowSupply(const TrainJob& job, const PluginServices& call, ArtifactCopy copy);

  /// False: pairs of write_bert, which have no index, so that no part of a shard can be fetched.
  bool IsPacked() const;
  Status Arrange(const FreeBytes& free_bytes);
  Status ArrangeBlocks(const std::vector<FileFacts>& whole, const FreeBytes& free_bytes);
  Status ReadBlocks();
  Status Fetch(const std::vector<FileFacts>& files);
  Status MakeChecksums();
  /// Computes the checksums from the shards on this disk, or else from those in the bucket.
  Result<RowChecksums> Measure();
  Status LoadChecksums();
  /// Removes each file that is no right range; the others count as here.
  Status FindRanges(const std::function<bool()>& given_up) REQUIRES(mutex_);
  void FetchLoop(const std::stop_token& stop);
  bool stopped() const { return closing_ || call_.stopped(); }
  Status FetchBlock(std::uint64_t block);
  void Remove(std::uint64_t block) const;
  void GiveUp(const Status& why) REQUIRES(mutex_);
  std::string PathOf(const RowRange& range) const { return blocks_directory_ + "/" + range.Name(); }
  FileFacts FactsOf(std::size_t range) const;

  const TrainJob& job_;
  const PluginServices& call_;
  const PluginStorage& storage_;
  ArtifactCopy copy_;    // its lock is kept while blocks are fetched
  FileDescriptor used_;  // the directory, shared with others that have all rows, or not
  const std::string data_digest_;
  const std::string checksums_uri_;
  std::string blocks_directory_;
  std::uint64_t limit_ = 0, all_bytes_ = 0, whole_bytes_ = 0;
  std::optional<RowBlocks> blocks_;  // from Open on if blocks are fetched; else once checksums are made
  RowChecksums checksums_;           // from the first BeginAttempt on, if blocks are fetched
  std::atomic<bool> closing_ = false;
  std::atomic<std::uint64_t> fetched_ = 0, fetched_blocks_ = 0;

  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  std::optional<FetchPlanner> planner_ GUARDED_BY(mutex_);  // if blocks are fetched
  int attempt_ GUARDED_BY(mutex_) = 0;
  bool begun_ GUARDED_BY(mutex_) = false;     // an attempt: the ranges were compared
  bool given_up_ GUARDED_BY(mutex_) = false;  // nothing more is fetched in this attempt
  std::uint64_t peak_ GUARDED_BY(mutex_) = 0;
  std::optional<Status> checksums_ended_ GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;  // last, like making_checksums_: they use the others
  std::jthread making_checksums_;
};

}  // namespace pipeline
