// A program run as a child of ours: its arguments as a list, never through a shell.
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
  /// argv[0] is a path, or a name that is looked for in our PATH.
  std::vector<std::string> argv = {};
  /// "NAME=value" each; absent: our own environment.
  std::optional<std::vector<std::string>> environment = std::nullopt;
  std::string directory = {};           // to run in; empty: ours
  std::size_t stderr_bytes = 16 << 10;  // how much of the end of what it says on stderr is kept
  bool joined = false;                  // stderr goes the way of stdout, and StderrTail stays empty
  std::vector<int> inherited = {};  // descriptors that it keeps, under the same numbers, beside 0, 1 and 2
};

/// How a child ended.
struct ChildExit {
  int code = 0;    // what it returned; 0 where a signal ended it
  int signal = 0;  // that ended it; 0 where it returned
  ProcessUse use = {};
  bool ok() const { return code == 0 && signal == 0; }
  /// "ended with exit code 3", "was ended by signal 9 (Killed)".
  std::string Describe() const;
};

/// A running child with pipes to its stdin and from its stdout; its stderr is read all the time by a
/// thread of ours and only the end of it kept. It leads a process group of its own, so that a signal
/// reaches what it starts too, and so that a key on the terminal does not reach it: who owns it decides.
/// It inherits no other descriptor of ours but those named, no blocked signal and, but for SIGHUP, no ignored
/// one.
///
/// Its group ends with it, and with us: what it started is killed when it has ended and was silent for a
/// second, when Wait returns, and when this process dies (base/group_watch.h). What has left the group
/// (setsid) is out of reach.
///
/// It stands in the ledger of children (base/child_ledger.h) from Start until it was waited for, under the
/// owner of the thread that called Start.
///
/// The kernel kills the child when the *thread* that called Start ends, however it ends; that thread
/// is the one to call Wait. Write, Read and Signal may each be called from a thread of its own.
class ChildProcess {
 public:
  /// kNotFound, kPermissionDenied …, naming argv[0], where the program cannot be executed.
  static Result<std::unique_ptr<ChildProcess>> Start(const ChildOptions& options);
  /// Kills the group and waits for the child, if Wait did not.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Writes all of `bytes` to its stdin. kUnavailable: it reads no more (it ended or closed its stdin; Wait
  /// says why); kCancelled within a tenth of a second after `stop`.
  Status Write(std::string_view bytes, const std::stop_token& stop);
  /// The end of its stdin. Not while a Write runs.
  void CloseInput();
  /// Reads what is there of its stdout, at least one byte; 0 at its end, which is also when the child has
  /// ended and whatever else holds its stdout says nothing any more. kCancelled as Write. Not after Wait.
  Result<std::size_t> Read(std::span<char> buffer, const std::stop_token& stop);

  /// That of its group, too.
  pid_t id() const { return id_; }
  /// Sends `number` to the whole group; nothing after Wait. Safe from any thread.
  void Signal(int number);
  /// True once Wait would not have to wait. The thread that calls Wait.
  bool HasEnded() const;
  /// Closes its stdin and waits for the child; then kills what is left of the group. After `stop`, the
  /// group gets SIGTERM, and SIGKILL when `grace` is over: the answer is kCancelled then. What nobody reads
  /// of its stdout may keep it waiting for ever: Read to the end first. Called once.
  Result<ChildExit> Wait(const std::stop_token& stop, std::chrono::milliseconds grace);

  /// The end of what it said on stderr so far, from the start of a line, without a final line end.
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
  bool reaped_ GUARDED_BY(mutex_) = false;  // afterwards id_ may be somebody else's
  std::string stderr_ GUARDED_BY(mutex_);   // at most twice stderr_bytes_
  bool stderr_cut_ GUARDED_BY(mutex_) = false;

  std::jthread drain_;  // last: it uses the others
};

}  // namespace pipeline
