// xz: streamed, or block by block by its index. Rules: formats/compression.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Decodes all streams of `input`, of whatever blocks, with at most 256 MiB of memory.
Result<std::unique_ptr<ByteReader>> NewXzReader(std::unique_ptr<ByteReader> input);

struct XzBlock {
  std::uint64_t offset = 0;      // in the file
  std::uint64_t bytes = 0;       // there, padding included
  std::uint64_t unpadded = 0;    // without it
  std::uint64_t raw_offset = 0;  // in the decoded data
  std::uint64_t raw_bytes = 0;
  std::uint32_t check = 0;  // kind of check, as the stream's header has it
};

struct XzIndex {
  std::vector<XzBlock> blocks;  // of all streams, front to back; none is empty
  std::uint64_t raw_bytes = 0;  // of the whole file
  /// Bytes for decoding a block, besides the block's own and its output, as the first block of each
  /// stream has it: no encoder is known to change that within a stream.
  std::uint64_t decoder_memory = 0;
};

/// Reads the index of `file` from its end. kDataLoss where the file is damaged or not complete,
/// kResourceExhausted where the index is larger than 64 MiB: such a file can still be streamed.
Result<XzIndex> ReadXzIndex(const ByteFile& file, std::stop_token stop);

/// Decodes the block whose bytes are `bytes` into `out` (replaced, its memory reused), which holds what
/// was good also after an error. At most 256 MiB of memory besides.
Status DecodeXzBlock(const XzBlock& block, std::string_view bytes, std::stop_token stop, std::string& out);

}  // namespace pipeline
