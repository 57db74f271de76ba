// The decoded bytes of one input, whatever its compression, from any offset where that is possible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/byte_reader.h"
#include "dag/stage.h"
#include "formats/compression.h"
#include "formats/xz.h"

namespace pipeline {

/// Immutable; must outlive its readers. Messages do not have the input's name in them.
class DecodedInput {
 public:
  /// Looks at the front of the input, and for xz at its index. `format` absent: by the first bytes.
  /// More than one block of an .xz is decoded on up to `threads` threads within `memory` bytes; where one
  /// block does not fit, front to back.
  static Result<DecodedInput> Open(const InputFile& input, std::optional<Compression> format, int threads,
                                   std::uint64_t memory, const std::stop_token& stop);

  bool seekable() const { return compression_ == Compression::kPlain || threads_ > 0; }
  /// From `raw_offset` on, which is 0 unless seekable().
  Result<std::unique_ptr<ByteReader>> Read(std::uint64_t raw_offset, const std::stop_token& stop) const;

 private:
  DecodedInput() = default;
  std::shared_ptr<const ByteFile> file_;
  Compression compression_ = Compression::kPlain;
  std::unique_ptr<const XzIndex> index_;  // null unless threads_ > 0; stays where it is when this moves
  int threads_ = 0;                       // that decode blocks; 0: front to back
};

}  // namespace pipeline
