// bzip2, decoded by libbz2. Rules: formats/compression.md.
#pragma once

#include <memory>

#include "base/byte_reader.h"

namespace pipeline {

/// Decodes all streams of `input` and checks their CRCs.
std::unique_ptr<ByteReader> NewBzip2Reader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
