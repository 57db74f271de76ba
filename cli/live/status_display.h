// Shows the progress of a run on standard error: a live area on a terminal, plain lines in a pipe. Other
// code prints results on standard output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "cli/live/pace.h"
#include "cli/live/stage_line.h"
#include "dag/progress.h"

namespace pipeline {

/// Safe from any thread. While it exists, log messages go through it, so that they do not tear the live
/// area.
class StatusDisplay final : public Progress {
 public:
  explicit StatusDisplay(bool json);
  ~StatusDisplay() override;

  /// Call before Start, with the stages that will run.
  void Expect(StageLine stages);
  /// Draws until Stop: four times a second on a terminal, a line every ten seconds in a pipe.
  void Start();
  void Stop();
  /// True: there is a live area, so Start is of use for Show.
  bool has_terminal() const { return terminal_; }
  /// From now on these lines are drawn below the others.
  void Show(std::vector<std::string> lines);

  void StageBegan(std::string_view stage) override;
  void StageDone(std::string_view stage) override;
  void Started(std::shared_ptr<const RunningUnit> unit) override;
  void Finished(std::string_view unit, const Status& outcome) override;
  void Logged(std::string_view unit, std::uint64_t records, std::uint64_t bytes) override;
  void Advanced(std::string_view stage, std::uint64_t done, std::uint64_t of) override;
  void Arriving(std::string_view file, std::uint64_t here, std::uint64_t of, bool ended) override;
  void Note(std::string_view line) override;

 private:
  struct Shown;
  /// Shards of a stage, or bytes of a file that is being downloaded.
  struct Steps {
    void Note(std::uint64_t now_done, std::uint64_t now_of);
    std::uint64_t done = 0, of = 0;
    Pace pace;
  };

  void Loop();
  void Draw() REQUIRES(mutex_);
  void Erase() REQUIRES(mutex_);
  void WriteMessage(Level level, std::string_view message) REQUIRES(mutex_);
  std::vector<std::string> Lines() REQUIRES(mutex_);
  static std::string LineOf(Shown& shown, Pace::Time now);
  static std::string LineOfJob(Shown& shown, const std::string& said, Pace::Time now);

  const bool json_;
  const bool terminal_;
  LogSink former_sink_;

  Mutex mutex_;
  ConditionVariable ended_;
  bool running_ GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<Shown>> units_ GUARDED_BY(mutex_);
  Pace::Time began_ GUARDED_BY(mutex_){0};
  StageLine stages_ GUARDED_BY(mutex_);
  std::map<std::string, Steps> shards_ GUARDED_BY(mutex_);     // by stage
  std::map<std::string, Steps> downloads_ GUARDED_BY(mutex_);  // by file
  std::vector<std::string> shown_ GUARDED_BY(mutex_);          // by Show
  std::size_t lines_drawn_ GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace pipeline
