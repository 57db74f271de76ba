// Runs a program as a child process: arguments as a list, never through a shell.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/child_ledger.h"
#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "base/result.h"

namespace pipeline {

struct ChildOptions {
  /// argv[0] is a path, or a name to find in our PATH.
  std::vector<std::string> argv = {};
  /// "NAME=value" each; absent: our environment.
  std::optional<std::vector<std::string>> environment = std::nullopt;
  std::string directory = {};           // working directory; empty: ours
  std::size_t stderr_bytes = 16 << 10;  // bytes to keep from the end of stderr
  bool joined = false;                  // stderr goes to stdout, and StderrTail stays empty
  std::vector<int> inherited = {};      // descriptors to keep, with the same numbers, beside 0, 1 and 2
};

/// End of a child.
struct ChildExit {
  int code = 0;    // exit code; 0 if a signal ended it
  int signal = 0;  // the signal that ended it; 0 if it returned
  ProcessUse use = {};
  bool ok() const { return code == 0 && signal == 0; }
  /// "ended with exit code 3", "was ended by signal 9 (Killed)".
  std::string Describe() const;
};

/// A running child with pipes to its stdin and from its stdout. A thread of ours reads its stderr and keeps
/// only the end of it. The child leads its own process group: a signal also reaches processes that it
/// starts, and a key on the terminal does not reach it, because its owner decides. It inherits no other
/// descriptor than `inherited`, no blocked signal and, except SIGHUP, no ignored signal.
///
/// The group ends with the child and with this process. Its other processes are killed when the child has
/// ended and its stdout was silent for a second, when Wait returns, and when this process dies
/// (base/group_watch.h). Processes that left the group (setsid) are out of reach.
///
/// The child is in the ledger of children (base/child_ledger.h) from Start until it was waited for, under
/// the owner of the thread that called Start.
///
/// The kernel kills the child when the *thread* that called Start ends, for any reason; that thread must
/// call Wait. Write, Read and Signal may each be called from another thread.
class ChildProcess {
 public:
  /// kNotFound, kPermissionDenied …: the program cannot be executed; the message names argv[0].
  static Result<std::unique_ptr<ChildProcess>> Start(const ChildOptions& options);
  /// Kills the group, and waits for the child unless Wait did.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Writes all of `bytes` to its stdin. kUnavailable: the child reads no more (it ended or closed its
  /// stdin; Wait gives the reason). kCancelled: within a tenth of a second after `stop`.
  Status Write(std::string_view bytes, const std::stop_token& stop);
  /// Closes its stdin. Not while a Write runs.
  void CloseInput();
  /// Reads the available bytes of its stdout, at least one. Returns 0 at the end: stdout is closed, or the
  /// child has ended and other processes that hold its stdout stay silent. kCancelled as in Write. Not
  /// after Wait.
  Result<std::size_t> Read(std::span<char> buffer, const std::stop_token& stop);

  /// Process id of the child and of its group.
  pid_t id() const { return id_; }
  /// Sends `number` to the whole group; no effect after Wait. Safe from any thread.
  void Signal(int number);
  /// True if Wait would not block for the child. Call it from the thread that calls Wait.
  bool HasEnded() const;
  /// Closes its stdin and waits for the child, then kills the rest of the group. After `stop`, the group
  /// gets SIGTERM, then SIGKILL after `grace`, and the result is kCancelled. Unread stdout may block the
  /// child for ever: Read to the end first. Call it once.
  Result<ChildExit> Wait(const std::stop_token& stop, std::chrono::milliseconds grace);

  /// End of its stderr so far, from the start of a line, without the final line end.
  std::string StderrTail() const;

 private:
  ChildProcess(pid_t id, FileDescriptor input, FileDescriptor output, FileDescriptor error,
               FileDescriptor wake, std::size_t stderr_bytes, FileDescriptor woken);
  void Drain(const FileDescriptor& from, const FileDescriptor& until);
  Result<ChildExit> Reap();

  FileDescriptor input_;
  FileDescriptor output_;
  FileDescriptor wake_;  // closing it ends the thread that drains stderr
  const pid_t id_;       // also of the group
  const std::size_t stderr_bytes_;

  mutable Mutex mutex_;
  bool reaped_ GUARDED_BY(mutex_) = false;  // afterwards id_ may belong to another process
  std::string stderr_ GUARDED_BY(mutex_);   // at most twice stderr_bytes_
  bool stderr_cut_ GUARDED_BY(mutex_) = false;

  std::jthread drain_;  // last: its thread uses the other members
};

}  // namespace pipeline
