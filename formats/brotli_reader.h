// Brotli, as web servers send it. Rules: formats/compression.md.
#pragma once

#include <memory>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Decodes the one stream that `input` is. There is no checksum in it.
Result<std::unique_ptr<ByteReader>> NewBrotliReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
