// xz: decoded as a stream, or block by block with its index. Rules: formats/compression.md.
#pragma once

#include <cstddef>
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

/// Value of the key `format` for xz.
inline constexpr std::string_view kXzName = "xz";

/// The version of the library that is loaded, as in ArchiveLibraryVersion and ZstdLibraryVersion.
std::string XzLibraryVersion();

/// Returns true if xz data begins with `front`.
bool IsXz(std::string_view front);

/// Decodes all streams of `input`, with blocks of any kind, in at most 256 MiB of memory.
Result<std::unique_ptr<ByteReader>> NewXzReader(std::unique_ptr<ByteReader> input);

struct XzBlock {
  std::uint64_t offset = 0;      // in the file
  std::uint64_t bytes = 0;       // bytes in the file, with padding
  std::uint64_t unpadded = 0;    // the same without padding
  std::uint64_t raw_offset = 0;  // in the decoded data
  std::uint64_t raw_bytes = 0;
  std::uint32_t check = 0;  // kind of check, from the header of the stream
};

struct XzIndex {
  std::vector<XzBlock> blocks;  // of all streams, front to back; no block is empty
  std::uint64_t raw_bytes = 0;  // decoded bytes of the whole file
  /// Memory in bytes to decode a block, without the block and its output. Taken from the first block of
  /// each stream: no known encoder changes it within a stream.
  std::uint64_t decoder_memory = 0;
};

/// Reads the index of `file` from its end. kDataLoss: the file is damaged or incomplete.
/// kResourceExhausted: the index is larger than 64 MiB; NewXzReader can still read such a file.
Result<XzIndex> ReadXzIndex(const ByteFile& file, std::stop_token stop);

/// The number of the block that contains `raw_offset`; the number of blocks: none does.
std::size_t XzBlockAt(const XzIndex& index, std::uint64_t raw_offset);

/// Decodes one block as a stream, in at most 256 MiB of memory, whatever the size of the block is. Its check
/// is verified before the end. Damage has the detail DamagedBytes with the bytes of the block. `input` is at
/// the first byte of the block, and behind its last one when the reader has come to the end. It outlives the
/// reader.
std::unique_ptr<ByteReader> NewXzBlockReader(const XzBlock& block, ByteReader& input);

}  // namespace pipeline
