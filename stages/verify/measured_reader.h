// Reads an object and measures it meanwhile: length, CRC-32C and digest. Its counterpart for writing is
// shards/measured_writer.
#pragma once

#include <cstdint>
#include <memory>

#include "base/byte_reader.h"
#include "base/digest.h"

namespace pipeline {

/// One thread at a time.
class MeasuredReader final : public ByteReader {
 public:
  explicit MeasuredReader(std::unique_ptr<ByteReader> input) : input_(std::move(input)) {}

  Result<std::size_t> Read(std::span<char> out) override;
  /// Reads the rest, only to measure it.
  Status Drain();

  // Measures of the bytes read so far.
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t crc32c() const { return crc32c_; }
  Digest digest() const { return hasher_.Finish(); }

 private:
  std::unique_ptr<ByteReader> input_;
  std::uint64_t bytes_ = 0;
  std::uint32_t crc32c_ = 0;
  Hasher hasher_;
};

}  // namespace pipeline
