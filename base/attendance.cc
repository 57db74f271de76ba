#include "base/attendance.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"

namespace pipeline {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::int64_t WholeSeconds(nanoseconds time) { return std::chrono::round<std::chrono::seconds>(time).count(); }

struct Present {
  Mutex mutex;
  std::shared_ptr<AttendedWait> wait GUARDED_BY(mutex);  // null: nobody waits
};

Present& ThePresent() {
  static Present present;
  return present;
}

std::shared_ptr<AttendedWait> Exchange(std::shared_ptr<AttendedWait> wait) {
  Present& present = ThePresent();
  const Lock lock(present.mutex);
  return std::exchange(present.wait, std::move(wait));
}

}  // namespace

std::optional<milliseconds> AttendedWait::Silent(std::string_view server, std::string_view shown,
                                                 nanoseconds begun) {
  const nanoseconds now = SystemClock().Monotonic();
  std::string line;
  nanoseconds next{0};
  {
    const Lock lock(mutex_);
    Silence& silence = silent_.try_emplace(std::string(server), Silence{begun, begun}).first->second;
    const nanoseconds end = silence.since + times_.patience;
    if (now >= end) return std::nullopt;
    // An attempt that fails soon is no silence: who tries again tells of it.
    nanoseconds told_next = std::max<nanoseconds>(silence.told_next, begun + times_.silence);
    if (now >= told_next) {
      silence.told_next = told_next = now + times_.between_words;
      line = StrCat(shown, ": no answer for ", WholeSeconds(now - silence.since), " s; it is given up in ",
                    WholeSeconds(end - now), " s");
    }
    next = std::min(told_next, end) - now;
  }
  if (!line.empty()) LogWarning(line);
  return std::max(std::chrono::ceil<milliseconds>(next), milliseconds(1));
}

void AttendedWait::Answers(std::string_view server) {
  const Lock lock(mutex_);
  if (const auto found = silent_.find(server); found != silent_.end()) silent_.erase(found);
}

std::shared_ptr<AttendedWait> PresentWait() {
  Present& present = ThePresent();
  const Lock lock(present.mutex);
  return present.wait;
}

Attendance::Attendance(std::stop_token stop, const AttendanceTimes& times)
    : stop_(std::in_place, std::move(stop), std::stop_token()),
      before_(Exchange(std::make_shared<AttendedWait>(stop_->token(), times))) {}

Attendance::~Attendance() {
  stop_.reset();  // from here on, nothing stops the requests that still run
  Exchange(before_);
}

}  // namespace pipeline
