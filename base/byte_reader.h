// Bytes front to back, and bytes from an offset: interfaces between storage and formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "base/result.h"

namespace pipeline {

/// Reads bytes front to back. One thread at a time. May block; a reader with a stop token returns
/// kCancelled soon after a stop request.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills the front of `out`, which is not empty, and returns the number of bytes. 0: the end, also in all
  /// later calls; a short read is not the end. After an error every call returns the same error.
  virtual Result<std::size_t> Read(std::span<char> out) = 0;
};

/// An object that can be read from any offset and does not change while it is open. Safe from any thread.
/// It must outlive its readers.
class ByteFile {
 public:
  virtual ~ByteFile() = default;
  virtual std::uint64_t size() const = 0;
  /// Returns a reader from `offset` to the end of the file; empty if `offset` is at or past the end.
  virtual Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const = 0;
};

/// Fills all of `out`. kDataLoss: the reader ends too early.
Status ReadExactly(ByteReader& reader, std::span<char> out);

}  // namespace pipeline
