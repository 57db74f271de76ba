// The checksums by which people name files elsewhere, computed.
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
  /// Of all that came. Once. kUnimplemented where the library of this machine has no such kind.
  Result<Checksum> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipeline
