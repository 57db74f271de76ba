/* ORDER.md: which row a sample is. */
#pragma once

#include <stdint.h>

/* What one epoch has in common, and the window that was asked last. */
typedef struct {
  uint64_t rows; /* at least 1 */
  uint64_t seed;
  uint64_t epoch;
  uint64_t block_key;
  uint64_t short_place; /* where the last block, which may be short, stands */
  uint64_t lacking;     /* rows that it is short of a whole block */
  uint64_t window;
  uint64_t window_key;
} pipe_sample_order;

void pipe_sample_order_start(pipe_sample_order* order, uint64_t rows, uint64_t seed);
uint64_t pipe_sample_order_row(pipe_sample_order* order, uint64_t sample);
