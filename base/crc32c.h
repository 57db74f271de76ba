// CRC-32C (Castagnoli), used by TFRecord and Google Cloud Storage.
#pragma once

#include <cstdint>
#include <string_view>

namespace pipeline {

/// Returns the CRC of `bytes`, or of the bytes that `crc` covers followed by `bytes`.
std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc = 0);

/// Returns the CRC of bytes with the CRC `first`, followed by `size` bytes with the CRC `second`.
std::uint32_t CombineCrc32c(std::uint32_t first, std::uint32_t second, std::uint64_t size);

/// Mask for CRCs in TFRecord: a plain CRC over data that contains CRCs is weak.
constexpr std::uint32_t MaskCrc32c(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

/// Table-driven version for any processor; tests compare the fast versions with it.
std::uint32_t Crc32cPortable(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace pipeline
