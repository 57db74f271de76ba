#include "plugins/train/reader/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
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

/* The processor's instructions: these add eight bytes, or one, to a CRC. */
#if defined(__x86_64__)
#define PIPE_CRC32C __attribute__((target("sse4.2")))
PIPE_CRC32C static uint64_t add_word(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
PIPE_CRC32C static uint64_t add_byte(uint64_t crc, unsigned char byte) {
  return _mm_crc32_u8((uint32_t)crc, byte);
}

static int find_instructions(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0;
}
#elif defined(__aarch64__)
#define PIPE_CRC32C
/* In assembly, because the compilers have no common way to allow the instruction in one function alone. */
static uint64_t add_word(uint64_t crc, uint64_t word) {
  __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(crc) : "r"(word));
  return crc;
}
static uint64_t add_byte(uint64_t crc, unsigned char byte) {
  __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
  return crc;
}

static int find_instructions(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif

#if defined(PIPE_CRC32C)
PIPE_CRC32C static uint32_t by_instructions(uint32_t so_far, const unsigned char* bytes, size_t size) {
  uint64_t state = (uint32_t)~so_far;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    state = add_word(state, word);
  }
  for (; size > 0; ++bytes, --size) state = add_byte(state, *bytes);
  return ~(uint32_t)state;
}

/* The question costs as much as a row, and two threads that ask at once find the same answer. */
static int has_instructions(void) {
  static volatile int known = -1;
  if (known < 0) known = find_instructions();
  return known;
}
#endif

uint32_t pipe_crc32c(uint32_t so_far, const unsigned char* bytes, size_t size) {
#if defined(PIPE_CRC32C)
  if (has_instructions()) return by_instructions(so_far, bytes, size);
#endif
  return portable(so_far, bytes, size);
}

uint32_t pipe_masked_crc32c(const unsigned char* bytes, size_t size) {
  return mask(pipe_crc32c(0, bytes, size));
}

uint32_t pipe_masked_crc32c_portable(const unsigned char* bytes, size_t size) {
  return mask(portable(0, bytes, size));
}
