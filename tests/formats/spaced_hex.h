// Bytes of a file as the pages of the formats show them.
#pragma once

#include <string>
#include <string_view>

namespace pipeline {

/// Returns two digits and a space for each byte: "0a ff ".
inline std::string SpacedHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) hex += {kDigits[(byte >> 4) & 15], kDigits[byte & 15], ' '};
  return hex;
}

}  // namespace pipeline
