/* One row of stages/export/packed/packed.md: a tf.train.Example of one int64 list, or of two with weights, in
 * a TFRecord frame; or plain ids. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kPipeFrameHeader = 12, kPipeFrameOverhead = 16, kPipeErrorBytes = 256 };

typedef struct {
  uint32_t ids; /* per row */
  uint32_t vocab_size;
  uint32_t fill_id;
  uint32_t id_bytes; /* 2 or 4: a row is plain ids of this many bytes; 0: an Example */
  uint32_t weights;  /* 1: an Example also has the list `weights` */
} pipe_row_rules;

/* The number in these bytes, the lowest first. */
static inline uint64_t little_endian(const unsigned char* bytes, unsigned size) {
  uint64_t value = 0;
  while (size-- > 0) value = value << 8 | bytes[size];
  return value;
}

/* Reads the row in the `size` bytes of `frame` into `tokens` [rules->ids] and, where the rules say so,
 * `weights` [rules->ids], else null. `length`: its number of ids, from the index. Returns 1 and leaves
 * `error` alone if the row is valid, else 0. `at`: the offset of the frame, for `error`. */
int pipe_row_read(const pipe_row_rules* rules, const unsigned char* frame, uint64_t size, uint32_t length,
                  uint64_t at, int32_t* tokens, uint8_t* weights, char error[kPipeErrorBytes]);

#ifdef __cplusplus
}
#endif
