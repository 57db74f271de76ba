// Brotli, for bodies from web servers. Rules: formats/compression.md.
#pragma once

#include <memory>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Decodes `input`, which is one stream. The format has no checksum.
Result<std::unique_ptr<ByteReader>> NewBrotliReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
