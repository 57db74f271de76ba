// One zstd frame at once, for formats that cut their data into small frames themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// No zstd frame expands to more than this many times its size: a block of 4 bytes holds at most
/// 128 KiB. What claims more is damaged.
inline constexpr std::size_t kMaxZstdRatio = 32768;

/// Keeps a library context, which costs more than a small frame; its reuse never changes a byte.
/// One thread at a time.
class ZstdFrameCoder {
 public:
  ZstdFrameCoder();
  ~ZstdFrameCoder();
  ZstdFrameCoder(ZstdFrameCoder&&) noexcept;
  ZstdFrameCoder& operator=(ZstdFrameCoder&&) noexcept;

  /// Appends `raw` to `out` as one frame, at level 1.
  Status Compress(std::string_view raw, std::string& out);
  /// Replaces `raw` by what `frame` holds: exactly `raw_size` bytes, or kDataLoss.
  Status Expand(std::string_view frame, std::size_t raw_size, std::string& raw);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipeline
