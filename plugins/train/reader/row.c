#include "plugins/train/reader/row.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugins/train/reader/crc32c.h"

static uint64_t little_endian(const unsigned char* bytes, unsigned size) {
  uint64_t value = 0;
  while (size-- > 0) value = value << 8 | bytes[size];
  return value;
}

__attribute__((format(printf, 2, 3))) static int wrong(char* error, const char* form, ...) {
  va_list values;
  va_start(values, form);
  (void)vsnprintf(error, kPipeErrorBytes, form, values);
  va_end(values);
  return 0;
}

/* Enters a field whose tag is `tag`, that fills all that is left. */
static int enter(const unsigned char** at, const unsigned char* end, unsigned char tag) {
  uint64_t size = 0;
  if (*at == end || **at != tag) return 0;
  ++*at;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (*at == end) return 0;
    const unsigned char byte = *(*at)++;
    size |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return size == (uint64_t)(end - *at);
  }
  return 0;
}

/* The varints of the list `tokens`, the whole of the Example; null where it is anything else. */
static const unsigned char* list_of(const unsigned char* at, const unsigned char* end) {
  static const unsigned char kName[8] = {0x0a, 6, 't', 'o', 'k', 'e', 'n', 's'};
  if (!enter(&at, end, 0x0a) || !enter(&at, end, 0x0a)) return NULL;
  if (end - at < 8 || memcmp(at, kName, 8) != 0) return NULL;
  at += 8;
  if (!enter(&at, end, 0x12) || !enter(&at, end, 0x1a) || !enter(&at, end, 0x0a)) return NULL;
  return at;
}

/* One varint; UINT64_MAX where it is longer than 5 bytes. Up to 3 bytes, as nearly all ids have, without a
 * branch on how many. Reads 4 bytes. */
static uint64_t varint(const unsigned char** at) {
  const uint32_t word = (uint32_t)little_endian(*at, 4);
  const uint32_t ends = ~word & 0x00808080u;
  if (ends != 0) {
    const uint32_t kept = word & (ends ^ (ends - 1));
    *at += ((unsigned)__builtin_ctz(ends) >> 3) + 1;
    return (kept & 0x7fu) | (kept >> 1 & 0x3f80u) | (kept >> 2 & 0x1fc000u);
  }
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    const unsigned char byte = *(*at)++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return UINT64_MAX;
}

/* How many varints end before `end`. */
static uint64_t count(const unsigned char* at, const unsigned char* end) {
  uint64_t found = 0;
  for (; at < end; ++at) found += *at < 0x80;
  return found;
}

int pipe_row_read(const pipe_row_rules* rules, const unsigned char* frame, uint64_t size, uint32_t length,
                  uint64_t at, int32_t* tokens, char error[kPipeErrorBytes]) {
  if (size < kPipeFrameOverhead)
    return wrong(error, "the row at byte %" PRIu64 " has %" PRIu64 " bytes by its index, too few for one", at,
                 size);
  if (little_endian(frame + 8, 4) != pipe_masked_crc32c(frame, 8))
    return wrong(error, "damaged at byte %" PRIu64 ": the CRC of the length does not fit", at);
  const uint64_t data_size = little_endian(frame, 8);
  if (data_size != size - kPipeFrameOverhead)
    return wrong(error, "the row at byte %" PRIu64 " has %" PRIu64 " bytes, its index leaves %" PRIu64, at,
                 data_size, size - kPipeFrameOverhead);
  const unsigned char* const data = frame + kPipeFrameHeader;
  const unsigned char* const end = data + data_size;
  if (little_endian(end, 4) != pipe_masked_crc32c(data, data_size))
    return wrong(error, "damaged at byte %" PRIu64 ": the CRC of the data does not fit", at);

  const unsigned char* next = list_of(data, end);
  if (next == NULL || (next < end && end[-1] >= 0x80))
    return wrong(error, "the row at byte %" PRIu64 " is no Example of one int64 list \"tokens\"", at);
  const uint64_t ids = count(next, end);
  if (ids != rules->ids)
    return wrong(error, "the row at byte %" PRIu64 " has %" PRIu64 " ids, by packed.json %" PRIu32, at, ids,
                 rules->ids);
  for (uint32_t number = 0; number < rules->ids; ++number) {
    const uint64_t id = varint(&next);
    if (id >= rules->vocab_size)
      return wrong(
          error, "the row at byte %" PRIu64 ": id %" PRIu32 " is none of the tokenizer's %" PRIu32 " pieces",
          at, number, rules->vocab_size);
    tokens[number] = (int32_t)id;
  }
  for (uint32_t number = length; number < rules->ids; ++number)
    if ((uint32_t)tokens[number] != rules->fill_id)
      return wrong(error,
                   "the row at byte %" PRIu64 ": id %" PRIu32 ", behind its length of %" PRIu32
                   ", does not fill it",
                   at, number, length);
  return 1;
}
