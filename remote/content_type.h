// The media type that a bucket is told of an object, by the end of its name: what browsers and consoles go
// by.
#pragma once

#include <string_view>

namespace pipeline {

/// "application/octet-stream" for names that say nothing. Compressed files are those: nothing unpacks them on
/// the way, and offsets and checksums are about the bytes as they are.
std::string_view ContentTypeOf(std::string_view name);

}  // namespace pipeline
