// Detects the compression of an input and decodes it. Rules: formats/compression.md.
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

/// Number of leading bytes that DetectCompression needs; a shorter input is passed whole.
inline constexpr std::size_t kMagicBytes = 16;

/// Decides by the magic number at the front. `name` (the last part of a path or URL) never changes the
/// answer: it causes an error if it promises a compression that the bytes do not have.
Result<Compression> DetectCompression(std::string_view front, std::string_view name);

/// kUnimplemented: `front`, which was decoded from `outer`, is itself compressed.
Status RefuseNestedCompression(std::string_view front, Compression outer);

/// Returns the first `most` bytes of `reader`, or all if there are fewer.
Result<std::string> ReadFront(ByteReader& reader, std::size_t most);

/// Decodes `input` front to back; for kPlain, returns `input` itself.
Result<std::unique_ptr<ByteReader>> NewDecoder(Compression compression, std::unique_ptr<ByteReader> input);

}  // namespace pipeline
