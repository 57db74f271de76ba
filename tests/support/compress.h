// Compressed inputs for tests, made by the libraries' own encoders.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeline {

/// One stream; blocks of `block_bytes` of text, or one block where that is 0.
std::string XzCompress(std::string_view text, std::size_t block_bytes = 0);
/// One frame with a checksum.
std::string ZstdCompress(std::string_view text, int window_log = 0);
/// One member.
std::string GzipCompress(std::string_view text);
/// One stream of blocks of 100 kB.
std::string Bzip2Compress(std::string_view text);
/// One frame of blocks of 64 KiB, with all checksums.
std::string Lz4Compress(std::string_view text);

}  // namespace pipeline
