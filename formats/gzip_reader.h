// gzip, decoded by ISA-L. Rules: formats/compression.md.
#pragma once

#include <memory>

#include "base/byte_reader.h"

namespace pipeline {

/// Decodes all members of `input` and checks their CRCs and lengths.
std::unique_ptr<ByteReader> NewGzipReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
