// What HTTP calls deflate, by ISA-L. Rules: formats/compression.md.
#pragma once

#include <memory>

#include "base/byte_reader.h"

namespace pipeline {

/// Decodes the one stream that `input` is: with the header and the checksum of zlib (RFC 1950), or without
/// either (RFC 1951), as some servers send it.
std::unique_ptr<ByteReader> NewDeflateReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
