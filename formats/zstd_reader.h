// Zstandard, decoded as a stream. Rules: formats/compression.md.
#pragma once

#include <memory>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Decodes all frames of `input`, with windows up to 128 MiB.
Result<std::unique_ptr<ByteReader>> NewZstdReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
