// Downloads one file over several connections at once.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "base/byte_reader.h"
#include "storage/remote/http/ranged_file.h"

namespace pipeline {

/// Its readers prefetch parts over `connections` and return them in order. They hold at most `connections`
/// + 2 parts in memory. If the server refuses a part, they continue over one connection instead of failing.
class ParallelFile final : public ByteFile {
 public:
  static constexpr std::uint64_t kPart = std::uint64_t{4} << 20;

  /// `compared`: the file's name for messages, if the last bytes are compared before a new transfer goes on
  /// behind them; empty: they are not.
  ParallelFile(std::shared_ptr<const RangedFile> file, int connections, std::uint64_t part = kPart,
               std::string compared = {})
      : file_(std::move(file)), connections_(connections), part_(part), compared_(std::move(compared)) {}

  std::uint64_t size() const override { return file_->size(); }
  /// Sends no request before the first read.
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

 private:
  const std::shared_ptr<const RangedFile> file_;
  const int connections_;
  const std::uint64_t part_;
  const std::string compared_;
};

}  // namespace pipeline
