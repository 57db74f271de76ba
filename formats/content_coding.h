// What web servers do to a body on its way, and how it is undone. Rules: formats/compression.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Undoes one coding of RFC 9110, 8.4.1, by its name in lower case: gzip, deflate, br, zstd. kUnimplemented
/// for any other. The reader gives kDataLoss for what is damaged or ends early.
Result<std::unique_ptr<ByteReader>> NewContentDecoder(std::string_view coding,
                                                      std::unique_ptr<ByteReader> sent);

}  // namespace pipeline
