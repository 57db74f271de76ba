// Bytes front to back, and bytes from an offset: interfaces between storage and formats, bytes in memory
// behind them, and a file that reports what is read from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Reads until `out` is full or the reader ends, and returns the number of bytes.
Result<std::size_t> ReadFully(ByteReader& reader, std::span<char> out);
/// Calls `take` with each piece up to the end of the reader, of `most` bytes at most; its failure ends the
/// reading.
Status ReadPieces(ByteReader& reader, std::size_t most,
                  const std::function<Status(std::string_view piece)>& take);
/// Returns the CRC-32C of all bytes up to the end of the reader.
Result<std::uint32_t> ReadCrc32c(ByteReader& reader);
/// Fills all of `out`. kDataLoss: the reader ends too early.
Status ReadExactly(ByteReader& reader, std::span<char> out);
/// The same from `offset` of `file`. Does not open the file for an empty `out`.
Status ReadAt(const ByteFile& file, std::uint64_t offset, std::span<char> out, std::stop_token stop = {});
/// Returns `size` bytes of `file` from `offset` on, as ReadAt.
Result<std::string> ReadBytes(const ByteFile& file, std::uint64_t offset, std::uint64_t size,
                              std::stop_token stop = {});

/// Repeats its first error in all later calls, as ByteReader promises. One thread at a time.
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

/// Reports the bytes that are read from it.
class CountingFile final : public ByteFile {
 public:
  /// Each successful read calls `count` with its bytes, on the reading thread. `count` and all that it refers
  /// to outlive every reader.
  using Count = std::function<void(std::uint64_t offset, std::string_view bytes)>;
  CountingFile(std::shared_ptr<const ByteFile> file, Count count)
      : file_(std::move(file)), count_(std::make_shared<const Count>(std::move(count))) {}

  std::uint64_t size() const override { return file_->size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

 private:
  const std::shared_ptr<const ByteFile> file_;
  const std::shared_ptr<const Count> count_;  // also held by readers, which may outlive the file
};

}  // namespace pipeline
