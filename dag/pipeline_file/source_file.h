// A file that a Source reads, as it was when it was hashed.
#pragma once

#include <cstdint>
#include <string>

#include "base/digest.h"
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

}  // namespace pipeline
