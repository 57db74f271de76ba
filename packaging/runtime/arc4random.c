// Functions of glibc 2.36 that Debian 12's libstdc++ (std::random_device) and libexpat call. Only the file that contains
// them sees them.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) void arc4random_buf(void* to, size_t size) {
  char* next = to;
  while (size > 0) {
    ssize_t count = getrandom(next, size, 0);
    if (count < 0 && errno != EINTR) abort();
    if (count < 0) continue;
    next += count;
    size -= (size_t)count;
  }
}

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t number;
  arc4random_buf(&number, sizeof number);
  return number;
}
