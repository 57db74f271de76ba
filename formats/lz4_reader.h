// lz4 frames, decoded by liblz4. Rules: formats/compression.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Returns true if lz4 data begins with `front`.
bool IsLz4(std::string_view front);

/// Decodes all frames of `input` and checks the checksums that they have.
Result<std::unique_ptr<ByteReader>> NewLz4Reader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
