// Preloaded into a program, gives it the clock of another machine:
//
//   OTHER_CLOCK_AHEAD   seconds by which the time of day is ahead; negative: behind
//   OTHER_CLOCK_STEP    seconds by which it steps back once in each second, before it goes on; absent: never
//   OTHER_CLOCK_HOST    its name; absent: that of this one
//
// Monotonic clocks stay as they are, as on a real machine: only the time of day is set by people and by
// servers.
#include <dlfcn.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr long kSecond = 1'000'000'000;  // ns

double SecondsOf(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtod(text, nullptr);
}

int Real(clockid_t clock, timespec* now) {
  static const auto next = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  return next(clock, now);
}

void Move(timespec& now) {
  static const double ahead = SecondsOf("OTHER_CLOCK_AHEAD"), step = SecondsOf("OTHER_CLOCK_STEP");
  double moved = ahead;
  if (now.tv_nsec >= kSecond / 2) moved -= step;
  auto whole = static_cast<std::time_t>(moved);
  auto rest = static_cast<long>((moved - static_cast<double>(whole)) * kSecond);
  now.tv_sec += whole;
  now.tv_nsec += rest;
  for (; now.tv_nsec < 0; now.tv_nsec += kSecond) --now.tv_sec;
  for (; now.tv_nsec >= kSecond; now.tv_nsec -= kSecond) ++now.tv_sec;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int failed = Real(clock, now);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) Move(*now);
  return failed;
}

int gethostname(char* name, std::size_t size) noexcept {
  const char* given = std::getenv("OTHER_CLOCK_HOST");
  if (given == nullptr)
    return reinterpret_cast<int (*)(char*, std::size_t)>(dlsym(RTLD_NEXT, "gethostname"))(name, size);
  std::strncpy(name, given, size);
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec time;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

std::time_t time(std::time_t* at) noexcept {
  timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (at != nullptr) *at = now.tv_sec;
  return now.tv_sec;
}
}
