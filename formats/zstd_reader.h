// Zstandard, decoded as a stream. Rules: formats/compression.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Returns true if zstd data begins with `front`.
bool IsZstd(std::string_view front);

/// Decodes all frames of `input`, with windows up to 128 MiB.
Result<std::unique_ptr<ByteReader>> NewZstdReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
