#include "plugins/train/reader/sample_order.h"

enum { kBlock = kPipeBlockRows, kWindow = kPipeWindowBlocks, kRounds = 6 };

static const uint64_t kGolden = 0x9e3779b97f4a7c15u;
static const uint64_t kStart = 0x706970656f726472u; /* "pipeordr" */

static uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

static uint64_t key_of(uint64_t seed, uint64_t epoch, uint64_t purpose) {
  const uint64_t after_seed = mix((kStart ^ seed) + kGolden);
  const uint64_t after_epoch = mix((after_seed ^ epoch) + kGolden);
  return mix((after_epoch ^ purpose) + kGolden);
}

static uint64_t round_of(uint64_t key, uint64_t number, uint64_t half) {
  return mix(half + key + kGolden * (number + 1));
}

/* Bits of each half, so that both together can hold 0 .. size - 1. */
static unsigned half_bits(uint64_t size) {
  unsigned half = 1;
  while (half < 32 && ((size - 1) >> (2 * half)) != 0) ++half;
  return half;
}

static uint64_t permute(uint64_t value, uint64_t size, uint64_t key) {
  const unsigned half = half_bits(size);
  const uint64_t mask = ((uint64_t)1 << half) - 1;
  if (size == 1) return value;
  do {
    uint64_t left = value >> half;
    uint64_t right = value & mask;
    for (uint64_t number = 0; number < kRounds; ++number) {
      const uint64_t next = left ^ (round_of(key, number, right) & mask);
      left = right;
      right = next;
    }
    value = left << half | right;
  } while (value >= size);
  return value;
}

static uint64_t permute_back(uint64_t value, uint64_t size, uint64_t key) {
  const unsigned half = half_bits(size);
  const uint64_t mask = ((uint64_t)1 << half) - 1;
  if (size == 1) return value;
  do {
    uint64_t left = value >> half;
    uint64_t right = value & mask;
    for (uint64_t number = kRounds; number-- > 0;) {
      const uint64_t before = right ^ (round_of(key, number, left) & mask);
      right = left;
      left = before;
    }
    value = left << half | right;
  } while (value >= size);
  return value;
}

static uint64_t blocks_of(uint64_t rows) { return (rows - 1) / kBlock + 1; }

static void enter_epoch(pipe_sample_order* order, uint64_t epoch) {
  const uint64_t blocks = blocks_of(order->rows);
  order->epoch = epoch;
  order->block_key = key_of(order->seed, epoch, 0);
  order->short_place = permute_back(blocks - 1, blocks, order->block_key);
  order->window = UINT64_MAX;
}

void pipe_sample_order_start(pipe_sample_order* order, uint64_t rows, uint64_t seed) {
  order->rows = rows;
  order->seed = seed;
  order->lacking = blocks_of(rows) * kBlock - rows;
  enter_epoch(order, 0);
}

/* A window of an epoch. */
typedef struct {
  uint64_t number;
  uint64_t begin; /* index of its first sample */
  uint64_t first; /* its first position */
  uint64_t held;  /* positions */
  uint64_t size;  /* rows */
  int has_short;  /* whether the short block is in it */
} window_of_epoch;

/* Enters the epoch of `sample`. */
static window_of_epoch find_window(pipe_sample_order* order, uint64_t sample) {
  const uint64_t blocks = blocks_of(order->rows);
  const uint64_t window_rows = (uint64_t)kBlock * kWindow;
  const uint64_t epoch = sample / order->rows;
  const uint64_t index = sample % order->rows;
  if (epoch != order->epoch) enter_epoch(order, epoch);
  const uint64_t lacking = order->lacking;
  const uint64_t short_window = order->short_place / kWindow;

  /* All windows before that of the short block are whole; those behind it begin `lacking` rows earlier. */
  window_of_epoch window;
  window.number = index / window_rows;
  if (index >= (short_window + 1) * window_rows - lacking) window.number = (index + lacking) / window_rows;
  window.begin = window.number * window_rows - (window.number > short_window ? lacking : 0);
  window.first = window.number * kWindow;
  window.held = blocks - window.first < kWindow ? blocks - window.first : kWindow;
  window.has_short = window.number == short_window;
  window.size = window.held * kBlock - (window.has_short ? lacking : 0);
  return window;
}

uint64_t pipe_sample_order_row(pipe_sample_order* order, uint64_t sample) {
  const window_of_epoch window = find_window(order, sample);
  if (window.number != order->window) {
    order->window = window.number;
    order->window_key = key_of(order->seed, order->epoch, window.number + 1);
  }
  uint64_t place = permute(sample % order->rows - window.begin, window.size, order->window_key);
  if (window.has_short && place >= (order->short_place - window.first + 1) * kBlock - order->lacking)
    place += order->lacking;
  const uint64_t block = permute(window.first + place / kBlock, blocks_of(order->rows), order->block_key);
  return block * kBlock + place % kBlock;
}

uint64_t pipe_sample_order_window(pipe_sample_order* order, uint64_t sample, uint64_t* blocks,
                                  uint64_t* end) {
  const window_of_epoch window = find_window(order, sample);
  for (uint64_t at = 0; at < window.held; ++at)
    blocks[at] = permute(window.first + at, blocks_of(order->rows), order->block_key);
  *end = sample - sample % order->rows + window.begin + window.size;
  return window.held;
}
