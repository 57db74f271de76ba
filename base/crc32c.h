// CRC-32C (Castagnoli), as TFRecord and Google Cloud Storage use it.
#pragma once

#include <cstdint>
#include <string_view>

namespace pipeline {

/// The CRC of `bytes`, or of what `crc` already covers followed by `bytes`.
std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc = 0);

/// TFRecord stores CRCs masked, since a CRC over data that holds CRCs is weak.
constexpr std::uint32_t MaskCrc32c(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

/// The table-driven version that any processor can run; the fast ones are tested against it.
std::uint32_t Crc32cPortable(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace pipeline
