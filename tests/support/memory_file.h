// Inputs held in memory, for tests of what reads them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/byte_reader.h"

namespace pipeline {

/// Gives `bytes` in reads of at most `chunk`, then the end, or `failure` if that is not OK.
class MemoryReader : public ByteReader {
 public:
  explicit MemoryReader(std::string bytes, std::size_t chunk = std::size_t{1} << 20,
                        std::stop_token stop = {}, Status failure = {})
      : bytes_(std::move(bytes)), chunk_(chunk), stop_(std::move(stop)), failure_(std::move(failure)) {}

  Result<std::size_t> Read(std::span<char> out) override {
    if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
    const std::size_t got = std::min({out.size(), chunk_, bytes_.size() - at_});
    if (got == 0 && !failure_.ok()) return failure_;
    std::copy_n(bytes_.data() + at_, got, out.data());
    at_ += got;
    return got;
  }

 private:
  const std::string bytes_;
  const std::size_t chunk_;
  const std::stop_token stop_;
  const Status failure_;
  std::size_t at_ = 0;
};

/// An object in memory whose readers give at most `chunk` bytes at a time.
class MemoryFile : public ByteFile {
 public:
  explicit MemoryFile(std::string bytes, std::size_t chunk = std::size_t{1} << 20)
      : bytes_(std::move(bytes)), chunk_(chunk) {}

  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    return std::unique_ptr<ByteReader>(std::make_unique<MemoryReader>(
        bytes_.substr(std::min<std::uint64_t>(offset, bytes_.size())), chunk_, std::move(stop)));
  }

 private:
  const std::string bytes_;
  const std::size_t chunk_;
};

/// Reads in pieces of `piece` bytes until the end or an error, which goes to `status`.
inline std::string ReadAll(ByteReader& reader, Status& status, std::size_t piece = std::size_t{1} << 16) {
  std::string all, buffer(piece, '\0');
  while (true) {
    Result<std::size_t> got = reader.Read(buffer);
    if (!got.ok()) {
      status = std::move(got).status();
      return all;
    }
    if (*got == 0) return all;
    all.append(buffer, 0, *got);
  }
}

}  // namespace pipeline
