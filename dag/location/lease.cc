#include "dag/location/lease.h"

#include <algorithm>
#include <memory>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kShortest{100}, kLongest{60'000};

}  // namespace

Status LeaseIsLost(std::string_view location, std::string_view why) {
  return Status(Code::kFailedPrecondition,
                StrCat(location, ": ", why, "; this run stops, and its finished work is kept"))
      .With(std::make_shared<LostLease>());
}

Status HeldByAnother(std::string_view location, std::string_view who) {
  return Status(Code::kFailedPrecondition,
                StrCat(location, ": ", who, " is writing there; wait until it has ended, or stop it there"));
}

std::chrono::milliseconds LeasePeriod(std::int64_t every_ms) {
  return std::clamp(std::chrono::milliseconds(every_ms), kShortest, kLongest);
}

}  // namespace pipeline
