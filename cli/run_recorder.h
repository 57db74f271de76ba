// Writes down what a run tells about itself while it works. Format: cli/run_record.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cli/live/run_now.h"
#include "cli/process/process_tree.h"
#include "cli/run_record.h"
#include "dag/progress.h"

namespace pipeline {

inline constexpr std::string_view kRecordName = "events.jsonl";

/// Hands everything on to the next listener. Safe from any thread. A record that cannot be written is
/// warned of once and harms the run in no other way.
class RunRecorder final : public Progress {
 public:
  /// `next` outlives the recorder. Nothing is written before Begin.
  explicit RunRecorder(Progress& next) : next_(next) {}
  ~RunRecorder() override;

  /// Makes `directory` and begins a record there; from now on a thread looks at this process and its
  /// children.
  void Begin(const std::string& directory, const RecordedBegin& begin,
             const std::vector<RecordedStage>& stages);
  /// What stood when the run began, by stage; after Begin.
  void Stands(const std::map<std::string, RecordedCounts>& counts);
  /// Stops the thread, adds `closing`, whole lines, and the end. False where the record is not whole.
  bool End(std::string outcome, std::vector<std::pair<std::string, std::string>> failures,
           const std::string& closing);

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
    std::uint64_t child_rss = 0;  // the most of its child processes that was seen
  };

  double Now() const;
  void Loop();
  void Look(bool fresh = false);
  /// What `status` shows of a run that goes on.
  RunNow NowOf(const RecordedMoment& moment, const TreeUse& tree) const REQUIRES(mutex_);
  void Write(const std::string& lines) REQUIRES(mutex_);

  Progress& next_;
  std::chrono::nanoseconds began_{0};
  std::string directory_;
  ProcessTree tree_;    // looked at by the thread, and by who ends the run when there is none
  TreeUse before_;      // the run
  double told_at_ = 0;  // when RunNow was written last; as tree_

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
  std::uint64_t read_ GUARDED_BY(mutex_) = 0;  // by units that ended
  std::uint64_t text_ GUARDED_BY(mutex_) = 0;
  std::uint64_t written_ GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace pipeline
