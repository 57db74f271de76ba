// Decodes the content codings of web servers. Rules: formats/compression.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Decodes one coding of RFC 9110, 8.4.1, by its lower-case name: gzip, deflate, br, zstd. kUnimplemented:
/// any other name. The reader returns kDataLoss for data that is damaged or ends early.
Result<std::unique_ptr<ByteReader>> NewContentDecoder(std::string_view coding,
                                                      std::unique_ptr<ByteReader> sent);

}  // namespace pipeline
