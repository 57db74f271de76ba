/* Maps samples to rows: ORDER.md. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kPipeBlockRows = 1024, kPipeWindowBlocks = 16 };

/* The state of one epoch, and of the last window used. */
typedef struct {
  uint64_t rows; /* at least 1 */
  uint64_t seed;
  uint64_t epoch;
  uint64_t block_key;
  uint64_t short_place; /* position of the last block, which may be short */
  uint64_t lacking;     /* rows missing from that block */
  uint64_t window;
  uint64_t window_key;
} pipe_sample_order;

void pipe_sample_order_start(pipe_sample_order* order, uint64_t rows, uint64_t seed);
uint64_t pipe_sample_order_row(pipe_sample_order* order, uint64_t sample);

/* Writes the blocks of the window that has `sample`, in the order of its positions, to `blocks`
 * [kPipeWindowBlocks], and the first sample behind that window to `end`. Returns the number of blocks. */
uint64_t pipe_sample_order_window(pipe_sample_order* order, uint64_t sample, uint64_t* blocks, uint64_t* end);

#ifdef __cplusplus
}
#endif
