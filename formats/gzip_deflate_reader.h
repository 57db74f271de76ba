// The content coding `deflate` of HTTP, decoded by ISA-L. Rules: formats/compression.md.
#pragma once

#include <memory>

#include "base/byte_reader.h"

namespace pipeline {

/// Decodes `input`, which is one stream: with header and checksum of zlib (RFC 1950), or without both (RFC
/// 1951), as some servers send it.
std::unique_ptr<ByteReader> NewDeflateReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
