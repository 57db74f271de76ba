// Which compression an input has, and a reader that undoes it. Rules: formats/compression.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

enum class Compression : std::uint8_t { kPlain, kXz, kZstd, kGzip, kBzip2, kLz4 };

inline constexpr std::array kCompressions = {Compression::kPlain, Compression::kXz,    Compression::kZstd,
                                             Compression::kGzip,  Compression::kBzip2, Compression::kLz4};

/// "xz", "zstd", "gzip", "bzip2", "lz4", "plain".
std::string_view CompressionName(Compression compression);

/// Enough of an input's front for DetectCompression; all of a shorter one.
inline constexpr std::size_t kMagicBytes = 16;

/// By the magic number at the front. `name` (the last part of a path or URL) can only make it fail:
/// where it promises a compression that the bytes do not have.
Result<Compression> DetectCompression(std::string_view front, std::string_view name);

/// kUnimplemented where `front`, which was decoded from `outer`, is compressed itself.
Status RefuseNestedCompression(std::string_view front, Compression outer);

/// The first `most` bytes of `reader`; fewer where it has no more.
Result<std::string> ReadFront(ByteReader& reader, std::size_t most);

/// Decodes `input` front to back; gives it back as it is for kPlain.
Result<std::unique_ptr<ByteReader>> NewDecoder(Compression compression, std::unique_ptr<ByteReader> input);

}  // namespace pipeline
