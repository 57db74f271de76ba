// Ends the process groups of our children when this process ends, for any reason: a shell reads a socket
// whose other end only this process has, and kills the recorded groups when that end is gone. This process
// cannot do it itself after SIGKILL.
#pragma once

#include <sys/types.h>

#include "base/file_descriptor.h"

namespace pipeline {

/// Has no effect if no shell can be started; then only the leader of a group surely ends with us. Safe from
/// any thread.
class GroupWatch {
 public:
  /// The instance of this process, started by the first call.
  static const GroupWatch& Get();

  /// From now on `group` ends with us. Safe between fork and exec.
  void Add(pid_t group) const { Tell('+', group); }
  /// Forgets `group`. Call it before its leader is waited for, while the number still belongs to it.
  void Remove(pid_t group) const { Tell('-', group); }

 private:
  GroupWatch();
  void Tell(char what, pid_t group) const;

  FileDescriptor socket_;
};

}  // namespace pipeline
