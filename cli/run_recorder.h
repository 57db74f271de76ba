// Writes down what a run tells about itself while it works. Format: cli/run_record.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
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

  /// Makes `directory` and begins a record there; from now on a thread looks at memory and disk.
  void Begin(const std::string& directory, const RecordedBegin& begin,
             const std::vector<RecordedStage>& stages, std::function<Result<std::uint64_t>()> free_bytes);
  /// Stops the thread, adds `closing`, whole lines, and the end. False where the record is not whole.
  bool End(std::string outcome, std::vector<std::pair<std::string, std::string>> failures,
           const std::string& closing);

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
  };

  double Now() const;
  void Loop();
  void Look();
  void Write(const std::string& lines);

  Progress& next_;
  std::chrono::nanoseconds began_{0};
  double cpu_before_ = 0;  // seconds of this process before the run
  std::function<Result<std::uint64_t>()> free_bytes_;

  std::mutex mutex_;  // guards all below
  std::condition_variable ended_;
  bool recording_ = false;
  bool failed_ = false;
  std::FILE* file_ = nullptr;
  std::list<Running> running_;
  std::uint64_t read_ = 0;  // by units that ended
  std::uint64_t text_ = 0;
  std::uint64_t written_ = 0;
  std::thread thread_;
};

}  // namespace pipeline
