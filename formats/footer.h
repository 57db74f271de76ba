// End of our own files: a footer that describes the file, and a trailer that locates and checks the footer.
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

/// Returns `footer` with its trailer: the last bytes of a file.
std::string SealFooter(const FooterKind& kind, std::string_view footer);

struct Footer {
  std::string bytes;
  std::uint64_t offset = 0;  // offset in the file, where the data ends
};

/// Checks both ends of `file` and returns the footer. kDataLoss: the file is damaged. kFailedPrecondition:
/// it has another version.
Result<Footer> ReadFooter(const FooterKind& kind, const ByteFile& file, std::stop_token stop);

}  // namespace pipeline
