// Process groups of our children, which end when we do, however that is: a shell waits at a socket whose
// other end is ours alone, and kills the groups that it was told of when that end is gone. SIGKILL leaves
// nobody here to do it.
#pragma once

#include <sys/types.h>

#include "base/file_descriptor.h"

namespace pipeline {

/// Does nothing where no shell can be started; then only the leader of a group is sure to end with us. Safe
/// from any thread.
class GroupWatch {
 public:
  /// That of this process, started with the first call.
  static const GroupWatch& Get();

  /// `group` ends with us from now on. Safe between fork and exec.
  void Add(pid_t group) const { Tell('+', group); }
  /// No more of it; before its leader is waited for, while the number is still its own.
  void Remove(pid_t group) const { Tell('-', group); }

 private:
  GroupWatch();
  void Tell(char what, pid_t group) const;

  FileDescriptor socket_;
};

}  // namespace pipeline
