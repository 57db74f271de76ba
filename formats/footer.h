// How our own files end: a footer that describes the rest, and a trailer that finds and checks it.
//   file = magic(8) ... footer trailer;  trailer = size:u64 version:u32 crc:u32 magic(8)
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/byte_reader.h"

namespace pipeline {

struct FooterKind {
  std::string_view name;   // for messages: "partition file"
  std::string_view magic;  // 8 bytes, at both ends of the file
  std::uint32_t version = 1;
};

inline constexpr std::size_t kHeadBytes = 8;
inline constexpr std::size_t kTrailerBytes = 24;

/// `footer` with its trailer: the last bytes of a file.
std::string SealFooter(const FooterKind& kind, std::string_view footer);

struct Footer {
  std::string bytes;
  std::uint64_t offset = 0;  // in the file: where the data before it ends
};

/// Checks both ends of `file` and gives the footer. kDataLoss where they are damaged,
/// kFailedPrecondition where they are of another version.
Result<Footer> ReadFooter(const FooterKind& kind, const ByteFile& file, std::stop_token stop);

/// Fills `out` from `offset`; kDataLoss where the file ends before.
Status ReadAt(const ByteFile& file, std::uint64_t offset, std::span<char> out, std::stop_token stop);

}  // namespace pipeline
