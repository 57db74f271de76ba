#include "cli/workspace/lease_period.h"

#include <cstdint>
#include <cstdlib>

#include "dag/location/lease.h"

namespace pipeline {

Result<std::chrono::milliseconds> LeasePeriodFromEnvironment() {
  const char* seconds = std::getenv("PIPE_LEASE");
  if (seconds == nullptr || *seconds == '\0') return LeaseTerms().every;
  char* end = nullptr;
  const double value = std::strtod(seconds, &end);
  if (*end != '\0' || !(value >= 0.1 && value <= 60))
    return Status(Code::kInvalidArgument, "PIPE_LEASE: not a number of seconds from 0.1 to 60");
  return std::chrono::milliseconds(static_cast<std::int64_t>(value * 1000));
}

}  // namespace pipeline
