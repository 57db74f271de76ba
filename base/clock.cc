#include "base/clock.h"

#include <array>
#include <ctime>

namespace pipeline {

namespace {

class MachineClock final : public Clock {
 public:
  std::chrono::nanoseconds Monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  std::int64_t UnixMillis() const override {
    using std::chrono::milliseconds;
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(since_1970).count();
  }
};

}  // namespace

const Clock& SystemClock() {
  static const MachineClock clock;
  return clock;
}

std::string Iso8601(std::int64_t unix_millis) {
  const std::time_t seconds = unix_millis / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace pipeline
