/* Maps samples to rows: ORDER.md. */
#pragma once

#include <stdint.h>

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
