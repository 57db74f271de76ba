// Bytes as text (RFC 4648): base64 with padding (section 4), and hexadecimal digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace pipeline {

std::string ToBase64(std::string_view bytes);
/// Absent: `text` is not exactly an output of ToBase64.
std::optional<std::string> FromBase64(std::string_view text);

/// Two digits for each byte, in lower case.
std::string ToHex(std::string_view bytes);

/// The text itself, or {"base64": ...} for bytes that are not text.
Json TextOrBase64(std::string_view bytes);

}  // namespace pipeline
