// gzip, decoded by ISA-L. Rules: formats/compression.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Returns true if gzip data begins with `front`.
bool IsGzip(std::string_view front);

/// Decodes all members of `input` and checks their CRCs and lengths.
Result<std::unique_ptr<ByteReader>> NewGzipReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
