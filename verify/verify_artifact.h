// Reads every byte of an artifact again and holds it against its manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/manifest.h"
#include "storage/store.h"
#include "verify/findings.h"
#include "verify/length_filter.h"
#include "verify/verified.h"

namespace pipeline {

struct VerifyReport {
  std::uint64_t objects = 0;                                  // read, the manifest not counted
  std::uint64_t bytes = 0;                                    // read
  std::map<std::string, std::uint64_t, std::less<>> records;  // read, by split
  std::size_t max_tokens = 0;                                 // which lines were held against; 0: none
  LengthCounts lengths;                                       // of the lines read
  bool sealed = true;                                         // Manifest::sealed
  std::uint64_t verified_before = 0;                          // objects that were not read
  std::vector<Findings> findings;  // of objects with something wrong, in the order of the manifest
  /// Objects that a run left and the manifest does not name, or that readers would take for a part of the
  /// artifact; none where a plugin made it, which may keep more at its place.
  std::vector<Findings> strays;
  std::vector<std::string> beside;  // names of other objects, which no run wrote; no findings
};

struct VerifyRules {
  int threads = 1;  // as many objects are read at a time; the report does not depend on it
  /// Objects that are as they were when they were verified are not read. Afterwards it has those of the
  /// artifact with nothing wrong, also where the call fails. Null: all are read.
  VerifiedObjects* verified = nullptr;
  /// Bytes that were read of those to read, at first and after each object; by one thread at a time.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress = {};
  /// A trainer whose loss is counted on the way; null: the one that the artifact was written for.
  const LengthFilter* filter = nullptr;
};

/// kCancelled once `stop` is set, or why the store cannot be listed; what is wrong with an object is a
/// finding.
Result<VerifyReport> VerifyArtifact(Store& store, const Manifest& manifest, const VerifyRules& rules,
                                    std::stop_token stop);

}  // namespace pipeline
