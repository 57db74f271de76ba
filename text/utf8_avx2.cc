#include "text/utf8_avx2.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pipeline {

#if defined(__x86_64__)

namespace {

// The method is that of Keiser and Lemire, "Validating UTF-8 In Less Than One Instruction Per Byte" (2021).
// Three half bytes, high and low of the first byte and high of the second, look up which mistakes two
// neighbours may have. Each mistake is a bit; the pair has it if all three results have it.
enum : std::uint8_t {
  kTooShort = 1 << 0,   // a lead byte, then no continuation
  kTooLong = 1 << 1,    // ASCII, then a continuation
  kOverlong3 = 1 << 2,  // E0, then 80..9F
  kTooLarge = 1 << 3,   // F4, then 90..BF; F5.., then any
  kSurrogate = 1 << 4,  // ED, then A0..BF
  kOverlong2 = 1 << 5,  // C0 or C1
  kOverlong4 = 1 << 6,  // F0, then 80..8F; shares its bit with F5.., then 80..8F
  kTwoTails = 1 << 7,   // two continuations: right only as the end of three bytes or four
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

#define PIPE_AVX2 __attribute__((target("avx2")))

PIPE_AVX2 __m256i Table(const std::uint8_t* table) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}

PIPE_AVX2 __m256i HighHalf(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
}

/// Returns nonzero bytes if `block`, which comes after `before`, has a mistake.
PIPE_AVX2 __m256i Mistakes(__m256i block, __m256i before) {
  // before[16..32) and block[0..16) are side by side, so that `alignr` can shift across the lanes.
  const __m256i middle = _mm256_permute2x128_si256(before, block, 0x21);
  const __m256i first = _mm256_alignr_epi8(block, middle, 15);
  const __m256i pair = _mm256_and_si256(
      _mm256_and_si256(
          _mm256_shuffle_epi8(Table(kFirstHigh), HighHalf(first)),
          _mm256_shuffle_epi8(Table(kFirstLow), _mm256_and_si256(first, _mm256_set1_epi8(0x0F)))),
      _mm256_shuffle_epi8(Table(kSecondHigh), HighHalf(block)));
  // Only the third byte after E0.. and the fourth after F0.. are tails that follow a tail.
  const __m256i third = _mm256_subs_epu8(_mm256_alignr_epi8(block, middle, 14), _mm256_set1_epi8(0x60));
  const __m256i fourth = _mm256_subs_epu8(_mm256_alignr_epi8(block, middle, 13), _mm256_set1_epi8(0x70));
  const __m256i tails =
      _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(kTwoTails)));
  const __m256i nul = _mm256_cmpeq_epi8(block, _mm256_setzero_si256());
  return _mm256_or_si256(_mm256_xor_si256(pair, tails), nul);
}

}  // namespace

bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

PIPE_AVX2 bool IsCleanUtf8Avx2(std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
  __m256i before = _mm256_set1_epi8('.');
  __m256i mistakes = _mm256_setzero_si256();
  for (; left >= 32; at += 32, left -= 32) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    mistakes = _mm256_or_si256(mistakes, Mistakes(block, before));
    before = block;
  }
  // The rest is filled with ASCII, which also shows whether the last character is complete.
  alignas(32) char rest[32];
  std::memset(rest, '.', sizeof rest);
  if (left > 0) std::memcpy(rest, at, left);
  const __m256i block = _mm256_load_si256(reinterpret_cast<const __m256i*>(rest));
  mistakes = _mm256_or_si256(mistakes, Mistakes(block, before));
  return _mm256_testz_si256(mistakes, mistakes) != 0;
}

#undef PIPE_AVX2

#else

bool HasAvx2() { return false; }
bool IsCleanUtf8Avx2(std::string_view) { return false; }

#endif

}  // namespace pipeline
