// Must not compile under clang's -Werror=thread-safety; `./dev lint` sees to it. No target builds it.
#include "base/mutex.h"

namespace pipeline {

class Counter {
 public:
  int Next() { return ++value_; }

 private:
  Mutex mutex_;
  int value_ GUARDED_BY(mutex_) = 0;
};

int Use() { return Counter().Next(); }

}  // namespace pipeline
