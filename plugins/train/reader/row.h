/* One row, as formats/packed.md writes it: a tf.train.Example of one int64 list in a TFRecord frame, or ids.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kPipeFrameHeader = 12, kPipeFrameOverhead = 16, kPipeErrorBytes = 256 };

typedef struct {
  uint32_t ids; /* of each row */
  uint32_t vocab_size;
  uint32_t fill_id;
  uint32_t id_bytes; /* 2 or 4: a row is nothing but ids of so many bytes; 0: an Example */
} pipe_row_rules;

/* Reads the row in the `size` bytes of `frame`, which the index says has `length` ids, into `tokens`
 * [rules->ids]. 1 and nothing in `error` when it is as it should be, else 0; `at` is where the frame begins,
 * for `error`. */
int pipe_row_read(const pipe_row_rules* rules, const unsigned char* frame, uint64_t size, uint32_t length,
                  uint64_t at, int32_t* tokens, char error[kPipeErrorBytes]);

#ifdef __cplusplus
}
#endif
