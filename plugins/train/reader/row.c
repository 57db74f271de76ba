#include "plugins/train/reader/row.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugins/train/reader/crc32c.h"

__attribute__((format(printf, 2, 3))) static int wrong(char* error, const char* form, ...) {
  va_list values;
  va_start(values, form);
  (void)vsnprintf(error, kPipeErrorBytes, form, values);
  va_end(values);
  return 0;
}

/* Enters a field whose tag is `tag`, and gives the end of its contents; null where there is no such field. */
static const unsigned char* enter(const unsigned char** at, const unsigned char* end, unsigned char tag) {
  uint64_t size = 0;
  if (*at == end || **at != tag) return NULL;
  ++*at;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (*at == end) return NULL;
    const unsigned char byte = *(*at)++;
    size |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return size <= (uint64_t)(end - *at) ? *at + size : NULL;
  }
  return NULL;
}

/* The varints of an int64 list; `begin` is null where there is no list. */
typedef struct {
  const unsigned char* begin;
  const unsigned char* end;
} number_list;

/* Takes the list of the feature that the entry from `at` to `end` names `name`; 0 where it is anything else.
 */
static int take_list(const unsigned char* at, const unsigned char* end, const char* name, number_list* list) {
  static const unsigned char kAround[3] = {0x12, 0x1a, 0x0a};
  const size_t name_size = strlen(name);
  const unsigned char* const behind_name = enter(&at, end, 0x0a);
  if (behind_name == NULL || (size_t)(behind_name - at) != name_size || memcmp(at, name, name_size) != 0)
    return 0;
  at = behind_name;
  for (unsigned depth = 0; depth < sizeof kAround; ++depth)
    if (enter(&at, end, kAround[depth]) != end) return 0;
  *list = (number_list){at, end};
  return at == end || end[-1] < 0x80;
}

/* The lists `tokens` and `weights`, the second of which may be absent, if they are the whole Example. */
static int take_lists(const unsigned char* at, const unsigned char* end, number_list* tokens,
                      number_list* weights) {
  *weights = (number_list){NULL, NULL};
  if (enter(&at, end, 0x0a) != end) return 0;
  const unsigned char* const first_end = enter(&at, end, 0x0a);
  if (first_end == NULL || !take_list(at, first_end, "tokens", tokens)) return 0;
  if (first_end == end) return 1;
  at = first_end;
  return enter(&at, end, 0x0a) == end && take_list(at, end, "weights", weights);
}

static uint64_t word_at(const unsigned char* bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

/* Bit i is set where byte i of `size` <= 64 ends a number. */
static uint64_t ends_of(const unsigned char* bytes, uint64_t size) {
  uint64_t ends = 0;
  uint64_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const uint64_t low = (~word_at(bytes + at) >> 7) & 0x0101010101010101u;
    ends |= (low * 0x0102040810204080u >> 56) << at; /* gathers the eight bits */
  }
  for (; at < size; ++at) ends |= (uint64_t)(bytes[at] < 0x80) << at;
  return ends;
}

/* The number of `size` bytes, 1 to 8, that ends at `last`. Reads the 8 bytes up to there: an Example has more
 * than that before its first number. */
static uint64_t number_at(const unsigned char* last, uint64_t size) {
  const uint64_t word = word_at(last - 7) >> (64 - 8 * size);
  return (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000) | (word >> 3 & 0xfe00000) |
         (word >> 4 & 0x7f0000000);
}

/* All numbers of a list whose last byte ends one, `most` of them at most; gives how many there are. One of
 * more than 5 bytes, or above `limit`, becomes `limit`. */
static uint64_t numbers_of(const unsigned char* at, const unsigned char* end, uint32_t limit, uint64_t most,
                           int32_t* numbers) {
  uint64_t found = 0;
  for (const unsigned char* begin = at; at < end; at += 64) {
    const uint64_t left = (uint64_t)(end - at);
    uint64_t ends = ends_of(at, left < 64 ? left : 64);
    for (; ends != 0; ends &= ends - 1, ++found) {
      const unsigned char* const last = at + __builtin_ctzll(ends);
      const uint64_t size = (uint64_t)(last - begin) + 1;
      if (found < most) {
        const uint64_t number = size <= 5 ? number_at(last, size) : UINT64_MAX;
        numbers[found] = (int32_t)(number < limit ? number : limit);
      }
      begin = last + 1;
    }
  }
  return found;
}

static uint64_t count_of(number_list list) {
  uint64_t count = 0;
  for (const unsigned char* at = list.begin; at < list.end; ++at) count += *at < 0x80;
  return count;
}

/* The ids of a row that is nothing else. */
static int take_ids(const pipe_row_rules* rules, const unsigned char* bytes, uint64_t size, uint64_t at,
                    int32_t* tokens, char* error) {
  if (size != (uint64_t)rules->ids * rules->id_bytes)
    return wrong(error,
                 "the row at byte %" PRIu64 " has %" PRIu64 " bytes by its index, by packed.json %" PRIu64,
                 at, size, (uint64_t)rules->ids * rules->id_bytes);
  for (uint32_t number = 0; number < rules->ids; ++number) {
    const uint64_t id = little_endian(bytes + (uint64_t)number * rules->id_bytes, rules->id_bytes);
    tokens[number] = (int32_t)(id < rules->vocab_size ? id : rules->vocab_size);
  }
  return 1;
}

/* The ids of an Example in a frame; `weights`: its list of them. */
static int take_example(const pipe_row_rules* rules, const unsigned char* frame, uint64_t size, uint64_t at,
                        int32_t* tokens, number_list* weights, char* error) {
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

  number_list list;
  if (!take_lists(data, end, &list, weights))
    return wrong(error, "the row at byte %" PRIu64 " is no Example of one int64 list \"tokens\"", at);
  if (rules->weights != 0 && weights->begin == NULL)
    return wrong(error, "the row at byte %" PRIu64 " has no weights", at);
  if (rules->weights == 0 && weights->begin != NULL)
    return wrong(error, "the row at byte %" PRIu64 " has weights, which packed.json does not name", at);
  const uint64_t ids = numbers_of(list.begin, list.end, rules->vocab_size, rules->ids, tokens);
  if (ids != rules->ids)
    return wrong(error, "the row at byte %" PRIu64 " has %" PRIu64 " ids, by packed.json %" PRIu32, at, ids,
                 rules->ids);
  const uint64_t held = count_of(*weights);
  if (rules->weights != 0 && held != rules->ids)
    return wrong(error, "the row at byte %" PRIu64 " has %" PRIu64 " weights instead of %" PRIu32, at, held,
                 rules->ids);
  return 1;
}

/* The weights of a row whose ids are right; `list` has as many numbers as the row has ids. */
static int take_weights(const pipe_row_rules* rules, number_list list, uint32_t length, uint64_t at,
                        uint8_t* weights, char* error) {
  uint32_t misplaced = 0;
  const unsigned char* from = list.begin;
  for (uint32_t number = 0; number < rules->ids; ++number) {
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0;
    do {
      byte = *from++;
      if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80);
    if (value > 1)
      return wrong(error, "the row at byte %" PRIu64 " has the weight %" PRId64 ", neither 0 nor 1", at,
                   (int64_t)value);
    weights[number] = (uint8_t)value;
    misplaced |= number == 0 || number >= length ? (uint32_t)value : 0;
  }
  if (misplaced != 0)
    return wrong(error, "the row at byte %" PRIu64 " has a weight at its context or its padding", at);
  return 1;
}

int pipe_row_read(const pipe_row_rules* rules, const unsigned char* frame, uint64_t size, uint32_t length,
                  uint64_t at, int32_t* tokens, uint8_t* weights, char error[kPipeErrorBytes]) {
  number_list list = {NULL, NULL};
  if (rules->id_bytes > 0 ? !take_ids(rules, frame, size, at, tokens, error)
                          : !take_example(rules, frame, size, at, tokens, &list, error))
    return 0;
  for (uint32_t number = 0; number < rules->ids; ++number)
    if ((uint32_t)tokens[number] == rules->vocab_size)
      return wrong(
          error, "the row at byte %" PRIu64 ": id %" PRIu32 " is none of the tokenizer's %" PRIu32 " pieces",
          at, number, rules->vocab_size);
  for (uint32_t number = length; number < rules->ids; ++number)
    if ((uint32_t)tokens[number] != rules->fill_id)
      return wrong(error,
                   "the row at byte %" PRIu64 ": id %" PRIu32 ", behind its length of %" PRIu32
                   ", does not fill it",
                   at, number, length);
  return rules->weights == 0 || take_weights(rules, list, length, at, weights, error);
}
