// bzip2, decoded by libbz2. Rules: formats/compression.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Returns true if bzip2 data begins with `front`.
bool IsBzip2(std::string_view front);

/// Decodes all streams of `input` and checks their CRCs.
Result<std::unique_ptr<ByteReader>> NewBzip2Reader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
