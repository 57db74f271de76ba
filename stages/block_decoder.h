// Blocks of an .xz decoded side by side, given out in order, from any offset of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/byte_reader.h"
#include "formats/xz.h"

namespace pipeline {

/// How many threads can work on blocks of `index` with `memory` bytes for their buffers and decoders: at
/// most `threads`, at least 1 where a block fits at all, otherwise 0.
int BlockDecoderThreads(const XzIndex& index, int threads, std::uint64_t memory);

/// Reads `file` front to back from the block that holds `raw_offset`, and decodes on `threads` (at least
/// 1) threads. `file` and `index` must outlive the reader. Destroying it stops the threads within 1 MiB.
std::unique_ptr<ByteReader> NewBlockDecoder(const ByteFile& file, const XzIndex& index,
                                            std::uint64_t raw_offset, int threads, std::stop_token stop);

}  // namespace pipeline
