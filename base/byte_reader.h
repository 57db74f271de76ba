// Bytes front to back, and bytes at an offset: what storage gives and formats decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "base/result.h"

namespace pipeline {

/// Reads bytes front to back. One thread at a time. May block; a reader made with a stop token
/// returns kCancelled soon after it is set.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills a prefix of `out` (not empty). 0 is the end, and stays the end; a short read is not.
  /// After an error every further call gives the same error.
  virtual Result<std::size_t> Read(std::span<char> out) = 0;
};

/// An object that does not change while it is open and can be read from any offset. Safe from any
/// thread; the readers it opens live no longer than it.
class ByteFile {
 public:
  virtual ~ByteFile() = default;
  virtual std::uint64_t size() const = 0;
  /// A reader from `offset` to the end of the file. An offset at or past the end reads as empty.
  virtual Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const = 0;
};

/// Fills all of `out`, or fails with kDataLoss when the reader ends before.
Status ReadExactly(ByteReader& reader, std::span<char> out);

}  // namespace pipeline
