// Runs the command that transforms the lines of one partition: its threads, pipes and time-out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "base/mutex.h"
#include "base/result.h"

namespace pipeline {

/// Runs a command with two threads: one writes its stdin, one reads its stdout. The reading thread also
/// starts the child and waits for it, because the kernel requires one thread for both
/// (base/child_process.h).
class CommandRun {
 public:
  /// Replaces `bytes` with the next input for stdin; false: no more input. Called on the writing thread. An
  /// error ends the run and becomes its outcome unchanged.
  using Feed = std::function<Result<bool>(std::string& bytes)>;

  /// Starts the command. `timeout` counts while Read waits and the command moves no byte. `owner`: of the
  /// child, see base/child_ledger.h.
  CommandRun(std::vector<std::string> argv, std::chrono::milliseconds timeout, Feed feed,
             const std::stop_token& stop, std::string owner = {});
  /// Kills the child if it still runs.
  ~CommandRun();
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  /// Returns the next bytes of stdout; empty: the command succeeded (it read all input and its exit code is
  /// 0). Errors do not name the location. One thread.
  Result<std::string> Read();
  /// Ends a command that is no longer needed. Keeps the end of its stderr.
  void Abandon();
  /// The end of the command's stderr. Call after Read returned the end or an error, or after Abandon.
  const std::string& said() const { return said_; }

 private:
  void RunChild();
  void WriteInput(ChildProcess& child);
  void ReadOutput(ChildProcess& child);
  void Progress();
  Status OutcomeOf(const Result<ChildExit>& exit);

  const std::vector<std::string> argv_;
  const std::chrono::milliseconds timeout_;
  const Feed feed_;
  const std::string owner_;
  const std::stop_token wanted_stop_;
  std::stop_source stop_;  // for both threads: the caller's stop, a time-out, a failure

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::string> output_ GUARDED_BY(mutex_);  // at most kChunks
  std::uint64_t progress_ GUARDED_BY(mutex_) = 0;
  bool timed_out_ GUARDED_BY(mutex_) = false;
  bool input_refused_ GUARDED_BY(mutex_) = false;    // the command closed stdin before it got all input
  std::optional<Status> broken_ GUARDED_BY(mutex_);  // the error of the feed or of a pipe
  std::optional<Status> ended_ GUARDED_BY(mutex_);   // the outcome

  std::string said_;  // written before ended_ is set, read after
  std::optional<std::stop_callback<std::function<void()>>> relay_;
  std::jthread thread_;  // last: uses the others
};

}  // namespace pipeline
