// One process of the trainer, with its channel for events and its log.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "plugins/train/event_lines.h"
#include "plugins/train/rotating_log.h"

namespace pipeline {

struct TrainerCommand {
  std::vector<std::string> argv;
  std::vector<std::string> set;    // "NAME=value": take the place of what is inherited
  std::vector<std::string> unset;  // names
  std::string log;                 // path
};

/// The thread that started it calls; the log is read by a thread of its own.
class TrainerProcess {
 public:
  /// Sets PIPE_EVENTS_FD beside what `command` sets.
  static Result<std::unique_ptr<TrainerProcess>> Start(const TrainerCommand& command);
  ~TrainerProcess();
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  using Take = std::function<void(const Json& event)>;

  /// To wait on; -1 once the channel is closed at the other end.
  int channel() const { return channel_.get(); }
  /// Gives what has come, at most some 256 KiB of it; never blocks.
  void ReadEvents(const Take& take);
  pid_t id() const { return child_->id(); }
  bool HasEnded() const { return child_->HasEnded(); }
  void Signal(int number) { child_->Signal(number); }
  /// After HasEnded, or to wait for it: kills what is left of the group, and gives what is left in the
  /// channel and in the output, in bounded time whoever else holds their ends. Called once.
  Result<ChildExit> Finish(const Take& take);

  const EventLines& lines() const { return lines_; }
  const RotatingLog& log() const { return log_; }

 private:
  TrainerProcess(std::string log, FileDescriptor channel);
  void KeepOutput(const std::stop_token& stop);

  RotatingLog log_;
  FileDescriptor channel_;  // not blocking
  EventLines lines_;
  std::unique_ptr<ChildProcess> child_;
  std::jthread output_;  // last: it uses the others
};

/// The environment of this process with some of it changed.
std::vector<std::string> ChangedEnvironment(const std::vector<std::string>& set,
                                            const std::vector<std::string>& unset);

}  // namespace pipeline
