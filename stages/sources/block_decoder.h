// Decodes the blocks of an .xz in parallel and returns them in order, from any offset of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/byte_reader.h"
#include "formats/xz.h"

namespace pipeline {

/// The number of threads that can decode blocks of `index` in `memory` bytes, buffers and decoders
/// included: at most `threads`, at least 1 if one block fits, otherwise 0.
int BlockDecoderThreads(const XzIndex& index, int threads, std::uint64_t memory);

/// Reads `file` front to back from the block that contains `raw_offset`, on `threads` threads (at least 1).
/// Blocks that begin at `probable_end` or later are decoded only when they are read. `file` and `index` must
/// outlive the reader. Destroying it stops each thread within 1 MiB of output.
std::unique_ptr<ByteReader> NewBlockDecoder(const ByteFile& file, const XzIndex& index,
                                            std::uint64_t raw_offset, std::uint64_t probable_end, int threads,
                                            std::stop_token stop);

}  // namespace pipeline
