// Encodes and decodes a single zstd frame, for formats that cut their data into small frames.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

std::string ZstdLibraryVersion();

/// Largest ratio of a zstd frame: a block of 4 bytes holds at most 128 KiB. A frame that markers more is
/// damaged.
inline constexpr std::size_t kMaxZstdRatio = 32768;

/// Keeps a library context, because creating one costs more than a small frame. Reuse never changes the
/// output. One thread at a time.
class ZstdFrameCoder {
 public:
  ZstdFrameCoder();
  ~ZstdFrameCoder();
  ZstdFrameCoder(ZstdFrameCoder&&) noexcept;
  ZstdFrameCoder& operator=(ZstdFrameCoder&&) noexcept;

  /// Appends `raw` to `out` as one frame, at level 1.
  Status Compress(std::string_view raw, std::string& out);
  /// Replaces `raw` by the content of `frame`. kDataLoss: the content is not exactly `raw_size` bytes.
  Status Expand(std::string_view frame, std::size_t raw_size, std::string& raw);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipeline
