// A remote file in one named state, so that another process can continue reading it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/byte_reader.h"

namespace pipeline {

/// All readers of the same version, in this process or the next, get the same bytes, or kDataLoss.
class VersionedFile final : public ByteFile {
 public:
  /// `file` is shared with its opener. `name`: for messages. `crc32c`: of the whole file, if its store has
  /// it.
  VersionedFile(std::shared_ptr<const ByteFile> file, std::string name, std::string version,
                std::optional<std::uint32_t> crc32c)
      : file_(std::move(file)), name_(std::move(name)), version_(std::move(version)), crc32c_(crc32c) {}

  std::uint64_t size() const override { return file_->size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    return file_->Open(offset, std::move(stop));
  }

  const ByteFile& file() const { return *file_; }
  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  std::optional<std::uint32_t> crc32c() const { return crc32c_; }

 private:
  std::shared_ptr<const ByteFile> file_;
  std::string name_;
  std::string version_;
  std::optional<std::uint32_t> crc32c_;
};

}  // namespace pipeline
