// A file that reports how many bytes are read from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "base/byte_reader.h"

namespace pipeline {

class CountingFile final : public ByteFile {
 public:
  /// Each successful read calls `count` with its bytes, on the reading thread. `count` and all that it refers
  /// to outlive every reader.
  using Count = std::function<void(std::size_t bytes)>;
  CountingFile(std::shared_ptr<const ByteFile> file, Count count)
      : file_(std::move(file)), count_(std::make_shared<const Count>(std::move(count))) {}

  std::uint64_t size() const override { return file_->size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

 private:
  const std::shared_ptr<const ByteFile> file_;
  const std::shared_ptr<const Count> count_;  // also held by readers, which may outlive the file
};

}  // namespace pipeline
