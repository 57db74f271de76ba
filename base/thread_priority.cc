#include "base/thread_priority.h"

#include <sys/resource.h>
#include <unistd.h>

namespace pipeline {

namespace {

constexpr int kLowNice = 5;  // above the program's; Linux has a nice value for each thread

}  // namespace

void SetThreadPriority(ThreadPriority priority) {
  // No other code changes the nice value of the first thread: it is that of the program.
  const int program = getpriority(PRIO_PROCESS, static_cast<id_t>(getpid()));
  const int wanted = priority == ThreadPriority::kLow ? program + kLowNice : program;
  // A failure costs only speed.
  if (getpriority(PRIO_PROCESS, 0) != wanted) setpriority(PRIO_PROCESS, 0, wanted);
}

}  // namespace pipeline
