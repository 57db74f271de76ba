// One process of the trainer, with its event channel and its log.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "plugins/train/event_lines.h"
#include "plugins/train/rotating_log.h"

namespace pipeline {

/// A pipe for the events of a child: CONTRACT.md, section 5.
struct EventChannel {
  FileDescriptor read;   // does not block
  FileDescriptor write;  // of the child, which inherits it
  static Result<EventChannel> Make();
  /// The variable of the environment that names `write`.
  std::string Variable() const;
};

struct TrainerCommand {
  std::vector<std::string> argv;
  std::vector<std::string> set;    // "NAME=value": replaces the inherited value
  std::vector<std::string> unset;  // names
  std::string directory = {};      // where it runs; empty: in ours
  std::string log;                 // path
  /// Gets the output too, on another thread; if empty, the process has a channel for events.
  std::function<void(std::string_view)> output = {};
};

/// Only the thread that started it calls its functions; a thread of its own reads the output.
class TrainerProcess {
 public:
  /// Sets PIPE_EVENTS_FD in addition to the variables of `command`, if there is a channel.
  static Result<std::unique_ptr<TrainerProcess>> Start(const TrainerCommand& command);
  ~TrainerProcess();
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  using Take = std::function<void(const Json& event)>;

  /// The descriptor to poll; -1 once the other end has closed it.
  int channel() const { return channel_.get(); }
  /// Passes on the events that have arrived, at most about 256 KiB; never blocks.
  void ReadEvents(const Take& take);
  pid_t id() const { return child_->id(); }
  bool HasEnded() const { return child_->HasEnded(); }
  void Signal(int number) { child_->Signal(number); }
  /// Call after HasEnded, or to wait for the end. Kills the rest of the process group and passes on the
  /// rest of the channel and the output, in bounded time even if another process holds their other ends.
  /// Call once.
  Result<ChildExit> Finish(const Take& take);

  const EventLines& lines() const { return lines_; }
  const RotatingLog& log() const { return log_; }

 private:
  TrainerProcess(const TrainerCommand& command, FileDescriptor channel);
  void KeepOutput(const std::stop_token& stop);

  RotatingLog log_;
  const std::function<void(std::string_view)> hear_output_;  // may be empty
  FileDescriptor channel_;                                   // non-blocking
  EventLines lines_;
  std::unique_ptr<ChildProcess> child_;
  std::jthread output_;  // last: it uses the others
};

/// The environment of this process with these changes.
std::vector<std::string> ChangedEnvironment(const std::vector<std::string>& set,
                                            const std::vector<std::string>& unset);

}  // namespace pipeline
