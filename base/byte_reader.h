// Bytes front to back, and bytes from an offset: interfaces between storage and formats, and bytes in memory
// behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

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

/// Reads bytes that their owner keeps.
class HeldBytes final : public ByteReader {
 public:
  explicit HeldBytes(std::string_view bytes, std::stop_token stop = {})
      : left_(bytes), stop_(std::move(stop)) {}
  Result<std::size_t> Read(std::span<char> out) override;

 private:
  std::string_view left_;
  const std::stop_token stop_;
};

/// A file of bytes in memory. `owner` keeps the bytes; null: whoever keeps the file does.
class HeldFile final : public ByteFile {
 public:
  explicit HeldFile(std::string_view bytes, std::shared_ptr<const void> owner = nullptr)
      : bytes_(bytes), owner_(std::move(owner)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

 private:
  const std::string_view bytes_;
  const std::shared_ptr<const void> owner_;
};

/// Fills all of `out`. kDataLoss: the reader ends too early.
Status ReadExactly(ByteReader& reader, std::span<char> out);
/// The same from `offset` of `file`. Does not open the file for an empty `out`.
Status ReadAt(const ByteFile& file, std::uint64_t offset, std::span<char> out, std::stop_token stop = {});
/// Returns `size` bytes of `file` from `offset` on, as ReadAt.
Result<std::string> ReadBytes(const ByteFile& file, std::uint64_t offset, std::uint64_t size,
                              std::stop_token stop = {});

}  // namespace pipeline
