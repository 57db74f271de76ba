#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <array>
#include <climits>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace pipeline {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78u;  // the lowest bit is the coefficient of x^31

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0u);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = MakeTable();

// ISA-L folds blocks of 1 KiB and more several times faster; its set-up costs more than that below (measured,
// bench/).
constexpr std::size_t kFoldingPays = 1024;

// The processor's instructions: Extend adds eight bytes, or one, to a CRC.
#if defined(__x86_64__)
#define PIPE_CRC32C __attribute__((target("sse4.2")))
PIPE_CRC32C std::uint64_t Extend(std::uint64_t crc, std::uint64_t word) { return _mm_crc32_u64(crc, word); }
PIPE_CRC32C std::uint64_t Extend(std::uint64_t crc, unsigned char byte) {
  return _mm_crc32_u8(static_cast<std::uint32_t>(crc), byte);
}
const bool kHasInstructions = __builtin_cpu_supports("sse4.2") != 0;
#elif defined(__aarch64__)
#define PIPE_CRC32C
// In assembly, because the compilers have no common way to allow the instruction in one function alone.
std::uint64_t Extend(std::uint64_t crc, std::uint64_t word) {
  asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(crc) : "r"(word));
  return crc;
}
std::uint64_t Extend(std::uint64_t crc, unsigned char byte) {
  asm(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
  return crc;
}
const bool kHasInstructions = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif

#if defined(PIPE_CRC32C)
PIPE_CRC32C std::uint32_t ByInstructions(std::string_view bytes, std::uint32_t crc) {
  std::uint64_t state = ~crc;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    state = Extend(state, word);
  }
  for (; left > 0; ++at, --left) state = Extend(state, static_cast<unsigned char>(*at));
  return ~static_cast<std::uint32_t>(state);
}
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

/// The product of two polynomials modulo that of the CRC; the highest bit is the coefficient of x^0.
std::uint32_t Product(std::uint32_t one, std::uint32_t other) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    if ((one & bit) != 0) product ^= other;
    other = (other & 1) != 0 ? (other >> 1) ^ kPolynomial : other >> 1;
  }
  return product;
}

}  // namespace

std::uint32_t CombineCrc32c(std::uint32_t first, std::uint32_t second, std::uint64_t size) {
  std::uint32_t shift = 0x80000000u;  // x^(8 size), from the squares of x^8
  for (std::uint32_t square = 0x00800000u; size > 0; size >>= 1, square = Product(square, square))
    if ((size & 1) != 0) shift = Product(shift, square);
  return Product(shift, first) ^ second;
}

std::uint32_t Crc32cPortable(std::string_view bytes, std::uint32_t crc) {
  crc = ~crc;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc) {
  if (bytes.size() >= kFoldingPays) return IsaL(bytes, crc);
#if defined(PIPE_CRC32C)
  if (kHasInstructions) return ByInstructions(bytes, crc);
#endif
  return Crc32cPortable(bytes, crc);
}

}  // namespace pipeline
