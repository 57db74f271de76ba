// A reader that answers every call after its first error with the same error, as ByteReader promises.
#pragma once

#include <utility>

#include "base/byte_reader.h"

namespace pipeline {

/// One thread at a time.
class RepeatingReader : public ByteReader {
 public:
  Result<std::size_t> Read(std::span<char> out) final {
    if (failure_.ok()) {
      Result<std::size_t> got = ReadSome(out);
      if (got.ok()) return got;
      failure_ = std::move(got).status();
    }
    return failure_;
  }

 private:
  /// As Read; it is not called after an error.
  virtual Result<std::size_t> ReadSome(std::span<char> out) = 0;

  Status failure_;
};

}  // namespace pipeline
