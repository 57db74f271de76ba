// Records the events of a run while it works. Format: cli/report/run_record.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cli/live/run_now.h"
#include "cli/report/run_record.h"
#include "cli/terminal/process_tree.h"
#include "dag/books/work_dir.h"
#include "dag/progress.h"

namespace pipeline {

inline constexpr std::string_view kRecordName = "events.jsonl";
/// Errors of ReadWholeFile and ParseRunRecord.
Result<RunRecord> ReadRecord(const WorkDir& work, const std::string& run);

/// Passes every event on to the next listener. Safe from any thread. If the record cannot be written, it
/// warns once; the run is not affected.
class RunRecorder final : public Progress {
 public:
  /// `next` outlives the recorder. Nothing is written before Begin.
  explicit RunRecorder(Progress& next) : next_(next) {}
  ~RunRecorder() override;

  /// Creates `directory` and begins a record there with `beginning` (EncodeBegin); starts a thread that
  /// samples this process and its children.
  void Begin(const std::string& directory, const std::string& beginning);
  /// Stops the thread and appends `closing` (whole lines) and the end. False: the record is incomplete.
  bool End(std::string outcome, std::vector<RunEnd::Failure> failures, const std::string& closing);

  /// `tell` is called, on any thread, when everything of a stage is complete. Call it before the run.
  void OnStageDone(std::function<void(std::string_view stage)> tell) { stage_done_ = std::move(tell); }

  void StageBegan(std::string_view stage) override;
  void StageDone(std::string_view stage) override;
  void Started(std::shared_ptr<const RunningUnit> unit) override;
  void Finished(std::string_view unit, const Status& outcome) override;
  void Logged(std::string_view unit, std::uint64_t records, std::uint64_t bytes) override;
  void Advanced(std::string_view stage, std::uint64_t done, std::uint64_t of) override;
  void Arriving(std::string_view file, std::uint64_t here, std::uint64_t of, bool ended) override;
  void Note(std::string_view line) override;

 private:
  struct Running {
    std::shared_ptr<const RunningUnit> unit;
    double since = 0;
    std::uint64_t child_rss = 0;  // the largest total of its child processes seen so far
  };

  double Now() const;
  void Loop();
  void Look(bool fresh = false);
  /// The state that `pipe status` shows for a running run.
  RunNow NowOf(const RecordedMoment& moment, const TreeUse& tree) const REQUIRES(mutex_);
  void Write(const std::string& lines) REQUIRES(mutex_);

  Progress& next_;
  std::function<void(std::string_view stage)> stage_done_;  // may be empty
  std::chrono::nanoseconds began_{0};
  std::string directory_;
  ProcessTree tree_;    // used by the thread; after it ended, by the caller of End
  TreeUse before_;      // usage before the run
  double told_at_ = 0;  // when RunNow was last written; same thread as tree_

  Mutex mutex_;
  ConditionVariable ended_;
  bool recording_ GUARDED_BY(mutex_) = false;
  bool failed_ GUARDED_BY(mutex_) = false;
  std::FILE* file_ GUARDED_BY(mutex_) = nullptr;
  std::list<Running> running_ GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> reached_ GUARDED_BY(mutex_);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>, std::less<>> shards_
      GUARDED_BY(mutex_);  // by stage
  std::uint64_t peak_rss_ GUARDED_BY(mutex_) = 0;
  std::uint64_t read_ GUARDED_BY(mutex_) = 0;  // by ended units
  std::uint64_t text_ GUARDED_BY(mutex_) = 0;
  std::uint64_t written_ GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace pipeline
