// Reads every byte of an artifact again and holds it against its manifest.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/manifest.h"
#include "storage/store.h"
#include "verify/findings.h"

namespace pipeline {

struct VerifyReport {
  std::uint64_t objects = 0;                                  // read, the manifest not counted
  std::uint64_t bytes = 0;                                    // read
  std::map<std::string, std::uint64_t, std::less<>> records;  // read, by split
  /// Objects with something wrong, in the order of the manifest, then those that it does not name, but for
  /// what a plugin made, which may keep more at its place.
  std::vector<Findings> findings;
};

/// Reads up to `threads` objects at a time; the report does not depend on how many. kCancelled once `stop`
/// is set, or why the store cannot be listed; what is wrong with an object is a finding.
Result<VerifyReport> VerifyArtifact(Store& store, const Manifest& manifest, int threads,
                                    std::stop_token stop);

}  // namespace pipeline
