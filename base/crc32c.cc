#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <array>
#include <climits>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace pipeline {

namespace {

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = MakeTable();

// ISA-L folds blocks of 1 KiB and more several times faster; its set-up costs more than that below (measured,
// bench/).
constexpr std::size_t kFoldingPays = 1024;

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t Sse42(std::string_view bytes, std::uint32_t crc) {
  std::uint64_t state = ~crc;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  for (; left > 0; ++at, --left) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}
const bool kHasSse42 = __builtin_cpu_supports("sse4.2") != 0;
#endif

std::uint32_t IsaL(std::string_view bytes, std::uint32_t crc) {
  std::uint32_t state = ~crc;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, INT_MAX / 2);
    // ISA-L reads only, though its parameter is not const.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
    state = crc32_iscsi(data, static_cast<int>(part.size()), state);
    bytes.remove_prefix(part.size());
  }
  return ~state;
}

}  // namespace

std::uint32_t Crc32cPortable(std::string_view bytes, std::uint32_t crc) {
  crc = ~crc;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc) {
  if (bytes.size() >= kFoldingPays) return IsaL(bytes, crc);
#if defined(__x86_64__)
  if (kHasSse42) return Sse42(bytes, crc);
#endif
  return Crc32cPortable(bytes, crc);
}

}  // namespace pipeline
