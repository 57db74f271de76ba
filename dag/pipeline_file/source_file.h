// A file that a Source reads, as it was when it was hashed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "storage/local_input.h"

namespace pipeline {

/// One file that a Source reads.
struct SourceFile {
  LocalInput input;
  std::uint64_t size = 0;
  Digest digest;           // of its bytes
  std::string identity{};  // Environment::file_identity when it was hashed; empty: unknown
  std::uint64_t here = 0;  // of a remote file: its bytes that were downloaded before
};

/// Detail of a failed FileListKind::local_inputs: some files are missing. `wanted` has all files in the order
/// of the configuration, present or missing, and with `is_pattern` each pattern that matches no name.
struct WantedFiles final : StatusDetail {
  explicit WantedFiles(std::vector<LocalInput> inputs) : wanted(std::move(inputs)) {}
  std::vector<LocalInput> wanted;
};

/// Detail of the failure for a missing file: its digest is known all the same, because it is pinned.
struct PinnedDigest final : StatusDetail {
  explicit PinnedDigest(const Digest& counts_by) : digest(counts_by) {}
  Digest digest;
};

}  // namespace pipeline
