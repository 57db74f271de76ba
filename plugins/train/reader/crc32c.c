#include "plugins/train/reader/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#endif

static uint32_t mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

/* Four bits at a time: a table this small needs no set-up, so that nothing here has a first call. */
static const uint32_t kNibbles[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                      0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                      0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

static uint32_t portable(uint32_t so_far, const unsigned char* bytes, size_t size) {
  uint32_t crc = ~so_far;
  for (size_t at = 0; at < size; ++at) {
    crc ^= bytes[at];
    crc = (crc >> 4) ^ kNibbles[crc & 15];
    crc = (crc >> 4) ^ kNibbles[crc & 15];
  }
  return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t sse42(uint32_t so_far, const unsigned char* bytes,
                                                        size_t size) {
  uint64_t state = ~so_far;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    state = _mm_crc32_u64(state, word);
  }
  uint32_t narrow = (uint32_t)state;
  for (; size > 0; ++bytes, --size) narrow = _mm_crc32_u8(narrow, *bytes);
  return ~narrow;
}

/* cpuid costs as much as a row, and two threads that ask at once find the same answer. */
static int has_sse42(void) {
  static volatile int known = -1;
  if (known < 0) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    known = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0;
  }
  return known;
}
#endif

uint32_t pipe_crc32c(uint32_t so_far, const unsigned char* bytes, size_t size) {
#if defined(__x86_64__)
  if (has_sse42()) return sse42(so_far, bytes, size);
#endif
  return portable(so_far, bytes, size);
}

uint32_t pipe_masked_crc32c(const unsigned char* bytes, size_t size) {
  return mask(pipe_crc32c(0, bytes, size));
}

uint32_t pipe_masked_crc32c_portable(const unsigned char* bytes, size_t size) {
  return mask(portable(0, bytes, size));
}
