// A file of a server, which can be asked for a part of it.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/byte_reader.h"

namespace pipeline {

/// A server answers with other bytes than the part that it was asked for; all of the file may still come from
/// there.
struct RefusesPart final : StatusDetail {};

class RangedFile : public ByteFile {
 public:
  /// Gives the bytes from `begin` on, and ends before `end`; the server is asked for no more than these.
  /// Where `end` is not that of the file, a server that answers with all of it is refused
  /// (kFailedPrecondition, RefusesPart) but for a part at the front: nobody wants to pass over gigabytes for
  /// each part.
  virtual Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                        std::stop_token stop) const = 0;

  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    return OpenRange(offset, size(), std::move(stop));
  }
};

}  // namespace pipeline
