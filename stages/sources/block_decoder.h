// Decodes the blocks of an .xz and returns them in order, from any offset of the text: one as a stream, or
// several at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/byte_reader.h"
#include "formats/xz.h"

namespace pipeline {

/// The number of threads that can decode blocks of `index` in `memory` bytes, with the index, buffers and
/// decoders: at most `threads`, and at least 1, which streams and so holds no block, however large it is.
int BlockDecoderThreads(const XzIndex& index, int threads, std::uint64_t memory);

/// Reads `file` front to back from the block that contains `raw_offset`, on `threads` threads, or on the
/// caller's if that is 1. The text of a block is given while the block is being decoded. Blocks that begin at
/// `probable_end` or later are decoded only when they are read. `file` and `index` must outlive the reader.
/// Destroying it stops each thread within 1 MiB of output.
std::unique_ptr<ByteReader> NewBlockDecoder(const ByteFile& file, const XzIndex& index,
                                            std::uint64_t raw_offset, std::uint64_t probable_end, int threads,
                                            std::stop_token stop);

}  // namespace pipeline
