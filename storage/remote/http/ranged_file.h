// A remote file that can be read in parts.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/byte_reader.h"

namespace pipeline {

/// The server does not send the requested part; the whole file may still be readable.
struct RefusesPart final : StatusDetail {};

class RangedFile : public ByteFile {
 public:
  /// Returns the bytes from `begin` up to `end`, exclusive, and requests only these. If `end` is not the
  /// end of the file and `begin` is not 0, a server that sends the whole file is refused
  /// (kFailedPrecondition, RefusesPart), because skipping gigabytes for each part is too slow.
  virtual Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                        std::stop_token stop) const = 0;

  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    return OpenRange(offset, size(), std::move(stop));
  }
};

}  // namespace pipeline
