// Computes the checksums that pin files: SHA-256, MD5, CRC-32C.
#pragma once

#include <memory>
#include <string_view>

#include "base/checksum.h"

namespace pipeline {

/// One thread at a time.
class ChecksumHasher {
 public:
  explicit ChecksumHasher(Checksum::Kind kind);
  ~ChecksumHasher();
  ChecksumHasher(ChecksumHasher&&) noexcept;
  ChecksumHasher& operator=(ChecksumHasher&&) noexcept;

  void Update(std::string_view bytes);
  /// Returns the checksum of all bytes added. Call once. kUnimplemented if the library of this machine
  /// lacks the algorithm.
  Result<Checksum> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipeline
