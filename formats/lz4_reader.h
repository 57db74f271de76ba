// lz4 frames, decoded by liblz4. Rules: formats/compression.md.
#pragma once

#include <memory>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Decodes all frames of `input` and checks the checksums that they have.
Result<std::unique_ptr<ByteReader>> NewLz4Reader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
