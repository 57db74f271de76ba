// Reads an object and measures it on the way: length, CRC-32C and digest. Its counterpart when writing is
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
  /// Reads what is left, for its measures alone.
  Status Drain();

  // Of what was read so far.
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
