// One file over several connections at once.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/byte_reader.h"
#include "remote/ranged_file.h"

namespace pipeline {

/// Its readers ask for one part after another over `connections`, ahead of who reads, and hand them on in
/// their order. They hold at most `connections` + 2 parts in memory. Where a part is refused, they go on over
/// one connection: a server that does not like it is no reason to fail.
class ParallelFile final : public ByteFile {
 public:
  static constexpr std::uint64_t kPart = std::uint64_t{4} << 20;

  ParallelFile(std::shared_ptr<const RangedFile> file, int connections, std::uint64_t part = kPart)
      : file_(std::move(file)), connections_(connections), part_(part) {}

  std::uint64_t size() const override { return file_->size(); }
  /// Nothing is asked before the first read.
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

 private:
  const std::shared_ptr<const RangedFile> file_;
  const int connections_;
  const std::uint64_t part_;
};

}  // namespace pipeline
