// A command while it turns one partition's lines into others: who writes, who reads, who waits.
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

/// Runs a command with two threads of its own, one that writes its stdin and one that reads its stdout. The
/// thread that reads starts the child and waits for it, as the kernel wants (base/child_process.h).
class CommandRun {
 public:
  /// The next bytes for stdin, in place of what `bytes` held; false where there are no more. Called from the
  /// writing thread. An error ends the run and is its outcome, as it is.
  using Feed = std::function<Result<bool>(std::string& bytes)>;

  /// Starts. `timeout` counts while Read waits and the command neither takes nor gives a byte.
  /// `owner`: of the child, base/child_ledger.h.
  CommandRun(std::vector<std::string> argv, std::chrono::milliseconds timeout, Feed feed,
             const std::stop_token& stop, std::string owner = {});
  /// Kills what is still running.
  ~CommandRun();
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  /// The next bytes of stdout; empty once the command ended as it should: everything fed, exit code 0. Else
  /// what went wrong, without saying where. One thread.
  Result<std::string> Read();
  /// Ends the command, which is no longer wanted. What it said on stderr last is kept.
  void Abandon();
  /// The end of what it said on stderr. After Read gave the end or an error, or after Abandon.
  const std::string& said() const { return said_; }

 private:
  void RunChild();
  void WriteInput(ChildProcess& child);
  void ReadOutput(ChildProcess& child);
  void Progress();
  Status Verdict(const Result<ChildExit>& exit);

  const std::vector<std::string> argv_;
  const std::chrono::milliseconds timeout_;
  const Feed feed_;
  const std::string owner_;
  const std::stop_token wanted_stop_;
  std::stop_source stop_;  // of both threads: the caller's stop, a time-out, a failure

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::string> output_ GUARDED_BY(mutex_);  // at most kChunks
  std::uint64_t progress_ GUARDED_BY(mutex_) = 0;
  bool timed_out_ GUARDED_BY(mutex_) = false;
  bool input_refused_ GUARDED_BY(mutex_) = false;    // the command closed its stdin before it was given all
  std::optional<Status> broken_ GUARDED_BY(mutex_);  // what the feed, or a pipe, failed with
  std::optional<Status> ended_ GUARDED_BY(mutex_);   // the outcome

  std::string said_;  // written before ended_ is set, read after
  std::optional<std::stop_callback<std::function<void()>>> relay_;
  std::jthread thread_;  // last: uses the others
};

}  // namespace pipeline
