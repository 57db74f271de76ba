// Reads every byte of an artifact again and checks it against its manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/books/manifest.h"
#include "stages/verify/export_format.h"
#include "stages/verify/findings.h"
#include "stages/verify/verified.h"
#include "stages/verify/verify_object.h"
#include "storage/store.h"

namespace pipeline {

struct VerifyReport {
  std::uint64_t objects = 0;                                  // number of objects read, without the manifest
  std::uint64_t bytes = 0;                                    // read
  std::map<std::string, std::uint64_t, std::less<>> records;  // read, by split
  std::size_t max_tokens = 0;         // the limit that lines were compared with; 0: none
  LengthCounts lengths;               // of the lines read
  bool sealed = true;                 // Manifest::sealed
  std::uint64_t verified_before = 0;  // objects that were not read
  std::vector<Findings> findings;     // of objects with problems, in the order of the manifest
  /// Leftovers of runs, and objects that readers would take for a part of the artifact. Empty for the
  /// artifact of a plugin, which may keep more at its location.
  std::vector<Findings> strays;
  std::vector<std::string> beside;  // names of other objects, which no run wrote; they are no findings
};

struct VerifyRules {
  int threads = 1;  // number of objects read at a time; the report does not depend on it
  /// Objects in this list that have not changed are not read again. Afterwards it has all objects of the
  /// artifact without a finding, even if the call fails. Null: all are read.
  VerifiedObjects* verified = nullptr;
  /// Called with the bytes read and the bytes to read, at the beginning and after each object; by one
  /// thread at a time.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress = {};
  /// The trainer's filter whose dropped lines are counted; null: the one that the artifact was written for.
  const LengthFilter* filter = nullptr;
};

/// kCancelled once `stop` is set; other errors: the store cannot be listed. Problems of objects are
/// findings.
Result<VerifyReport> VerifyArtifact(const StageTables& tables, Store& store, const Manifest& manifest,
                                    const VerifyRules& rules, std::stop_token stop);

}  // namespace pipeline
