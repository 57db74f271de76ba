// Checks whether this machine can use locations before a run depends on them; each problem comes with the one
// command that fixes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "storage/remote/http/retry.h"
#include "storage/uri.h"

namespace pipeline {

enum class CheckLevel : std::uint8_t { kOk, kWarning, kWrong };
/// Called once per check, with "what: how it is[: why][; run: COMMAND]".
using CheckTeller = std::function<void(CheckLevel level, std::string line)>;

/// Somebody waits for every line.
inline constexpr RetryPolicy kCheckupPolicy{.first = std::chrono::milliseconds(200),
                                            .longest = std::chrono::milliseconds(1'000),
                                            .attempts = 3,
                                            .patience = std::chrono::milliseconds(3'000)};
inline constexpr std::chrono::milliseconds kCheckupConnect{5'000}, kCheckupStall{15'000};

/// A location, and what is done there.
struct LocationUse {
  Uri location;
  bool writes = false;
  bool is_object = false;  // else a directory, or the prefix of many objects
};

/// The checks of one scheme's locations. Gives up on a request after a few seconds. One thread at a time.
class Checkup {
 public:
  virtual ~Checkup() = default;
  /// Checks a location or keeps it for Finish. Called for each, in the order in which they were named;
  /// `writes` only if the scheme is writable.
  virtual void Check(const LocationUse& use) = 0;
  /// Makes the checks that many locations share. Called once, at the end; also if no location was named at
  /// all.
  virtual void Finish() = 0;
};

}  // namespace pipeline
