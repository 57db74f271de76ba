#include "text/utf8_blocks.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace pipeline {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

// Keiser and Lemire, "Validating UTF-8 In Less Than One Instruction Per Byte" (2021). Three tables decide
// whether two bytes may follow each other: one for the high half of the first byte, one for its low half, and
// one for the high half of the second byte. Each mistake is a bit; it is made if all three entries have this
// bit.
enum : std::uint8_t {
  kTooShort = 1 << 0,   // a lead byte, then no continuation
  kTooLong = 1 << 1,    // ASCII, then a continuation
  kOverlong3 = 1 << 2,  // E0, then 80..9F
  kTooLarge = 1 << 3,   // F4 or higher, then 90..BF
  kSurrogate = 1 << 4,  // ED, then A0..BF
  kOverlong2 = 1 << 5,  // C0 or C1
  kOverlong4 = 1 << 6,  // F0, then 80..8F; shares its bit with F5.., then 80..8F
  kTwoTails = 1 << 7,   // two continuations: valid only inside a character of three or four bytes
};
constexpr std::uint8_t kAnyLow = kTooShort | kTooLong | kTwoTails;
constexpr std::uint8_t kF5 = kAnyLow | kTooLarge | kOverlong4;

alignas(16) constexpr std::uint8_t kFirstHigh[16] = {
    kTooLong,
    kTooLong,
    kTooLong,
    kTooLong,
    kTooLong,
    kTooLong,
    kTooLong,
    kTooLong,
    kTwoTails,
    kTwoTails,
    kTwoTails,
    kTwoTails,
    kTooShort | kOverlong2,
    kTooShort,
    kTooShort | kOverlong3 | kSurrogate,
    kTooShort | kTooLarge | kOverlong4,
};
alignas(16) constexpr std::uint8_t kFirstLow[16] = {
    kAnyLow | kOverlong2 | kOverlong3 | kOverlong4,
    kAnyLow | kOverlong2,
    kAnyLow,
    kAnyLow,
    kAnyLow | kTooLarge,
    kF5,
    kF5,
    kF5,
    kF5,
    kF5,
    kF5,
    kF5,
    kF5,
    kF5 | kSurrogate,
    kF5,
    kF5,
};
constexpr std::uint8_t kTail = kTooLong | kOverlong2 | kTwoTails;
alignas(16) constexpr std::uint8_t kSecondHigh[16] = {
    kTooShort,
    kTooShort,
    kTooShort,
    kTooShort,
    kTooShort,
    kTooShort,
    kTooShort,
    kTooShort,
    kTail | kOverlong3 | kOverlong4,
    kTail | kOverlong3 | kTooLarge,
    kTail | kSurrogate | kTooLarge,
    kTail | kSurrogate | kTooLarge,
    kTooShort,
    kTooShort,
    kTooShort,
    kTooShort,
};

#if defined(__x86_64__)

#define PIPE_BLOCKS __attribute__((target("avx2")))
using Block = __m256i;

PIPE_BLOCKS Block Load(const char* at) { return _mm256_loadu_si256(reinterpret_cast<const Block*>(at)); }
PIPE_BLOCKS Block Filled(std::uint8_t byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
PIPE_BLOCKS Block Or(Block a, Block b) { return _mm256_or_si256(a, b); }
PIPE_BLOCKS bool IsZero(Block block) { return _mm256_testz_si256(block, block) != 0; }

PIPE_BLOCKS Block LookUp(const std::uint8_t* table, Block halves) {
  const __m128i row = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(row), halves);
}

PIPE_BLOCKS Block HighHalf(Block bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), Filled(0x0F));
}

/// Returns a block that is not zero at each mistake in `block`, which follows `before`.
PIPE_BLOCKS Block Mistakes(Block block, Block before) {
  // before[16..32) and block[0..16), because `alignr` does not shift across the lanes of 16 bytes.
  const Block middle = _mm256_permute2x128_si256(before, block, 0x21);
  const Block first = _mm256_alignr_epi8(block, middle, 15);
  const Block pair =
      _mm256_and_si256(_mm256_and_si256(LookUp(kFirstHigh, HighHalf(first)),
                                        LookUp(kFirstLow, _mm256_and_si256(first, Filled(0x0F)))),
                       LookUp(kSecondHigh, HighHalf(block)));
  // A continuation follows another one in the third byte of characters that begin with E0 or higher, in the
  // fourth byte of those that begin with F0 or higher, and nowhere else.
  const Block third = _mm256_subs_epu8(_mm256_alignr_epi8(block, middle, 14), Filled(0x60));
  const Block fourth = _mm256_subs_epu8(_mm256_alignr_epi8(block, middle, 13), Filled(0x70));
  const Block tails = _mm256_and_si256(Or(third, fourth), Filled(kTwoTails));
  const Block nul = _mm256_cmpeq_epi8(block, _mm256_setzero_si256());
  return Or(_mm256_xor_si256(pair, tails), nul);
}

#else

#define PIPE_BLOCKS
using Block = uint8x16_t;

Block Load(const char* at) { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(at)); }
Block Filled(std::uint8_t byte) { return vdupq_n_u8(byte); }
Block Or(Block a, Block b) { return vorrq_u8(a, b); }
bool IsZero(Block block) { return vmaxvq_u8(block) == 0; }

Block LookUp(const std::uint8_t* table, Block halves) { return vqtbl1q_u8(vld1q_u8(table), halves); }

/// Does the same; shifts of NEON have no lanes.
Block Mistakes(Block block, Block before) {
  const Block first = vextq_u8(before, block, 15);
  const Block pair = vandq_u8(
      vandq_u8(LookUp(kFirstHigh, vshrq_n_u8(first, 4)), LookUp(kFirstLow, vandq_u8(first, Filled(0x0F)))),
      LookUp(kSecondHigh, vshrq_n_u8(block, 4)));
  const Block third = vqsubq_u8(vextq_u8(before, block, 14), Filled(0x60));
  const Block fourth = vqsubq_u8(vextq_u8(before, block, 13), Filled(0x70));
  const Block tails = vandq_u8(Or(third, fourth), Filled(kTwoTails));
  return Or(veorq_u8(pair, tails), vceqzq_u8(block));
}

#endif

}  // namespace

#if defined(__x86_64__)
bool HasUtf8Blocks() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#else
bool HasUtf8Blocks() { return true; }
#endif

PIPE_BLOCKS bool IsCleanUtf8Blocks(std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
  Block before = Filled('.');
  Block mistakes = Filled(0);
  for (; left >= sizeof(Block); at += sizeof(Block), left -= sizeof(Block)) {
    const Block block = Load(at);
    mistakes = Or(mistakes, Mistakes(block, before));
    before = block;
  }
  // Padded with ASCII, so that an incomplete last character is a mistake.
  char rest[sizeof(Block)];
  std::memset(rest, '.', sizeof rest);
  if (left > 0) std::memcpy(rest, at, left);
  return IsZero(Or(mistakes, Mistakes(Load(rest), before)));
}

#undef PIPE_BLOCKS

#else

bool HasUtf8Blocks() { return false; }
bool IsCleanUtf8Blocks(std::string_view) { return false; }

#endif

}  // namespace pipeline
