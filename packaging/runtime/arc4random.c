// The one function of libstdc++ of Debian 12 that is newer than GLIBC_2.34, for std::random_device. Only the libstdc++
// that contains it sees it.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t number;
  ssize_t count;
  do {
    count = getrandom(&number, sizeof number, 0);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof number) abort();  // not for so few bytes
  return number;
}
