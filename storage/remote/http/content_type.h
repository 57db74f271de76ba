// The media type of an object, chosen by the end of its name; browsers and consoles use it.
#pragma once

#include <string_view>

namespace pipeline {

/// "application/octet-stream" for unknown names and for compressed files: so nothing decompresses them in
/// transit, and offsets and checksums refer to the stored bytes.
std::string_view ContentTypeOf(std::string_view name);

}  // namespace pipeline
