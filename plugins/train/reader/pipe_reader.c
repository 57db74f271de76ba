#include "plugins/train/reader/pipe_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/train/reader/crc32c.h"
#include "plugins/train/reader/sample_order.h"
#include "plugins/train/reader/shard.h"

enum {
  kOpenShards = 64,        /* a window of ORDER.md is spread over 33 at most, unless shards are tiny */
  kReadAtOnce = 256 * 1024 /* rows that follow each other are read together */
};
static const uint64_t kMostRows = (uint64_t)1 << 40;

struct pipe_reader {
  char* directory; /* ends with a slash, as does `blocks` */
  char* blocks;    /* null: rows are in the shards */
  pipe_shard* shards;
  size_t shard_count;
  pipe_row_rules rules;
  pipe_sample_order order;
  uint64_t rows;
  uint64_t uses;
  uint32_t open_shards;
  unsigned char* buffer;
  uint64_t buffer_size;
  char error[kPipeErrorBytes * 2];
};

static int refuse(pipe_reader* reader, int code, const char* why) {
  (void)snprintf(reader->error, sizeof reader->error, "%s", why);
  return code;
}

static char* copy_of(const char* text, const char* behind) {
  const size_t size = strlen(text) + strlen(behind) + 1;
  char* const copy = malloc(size);
  if (copy != NULL) (void)snprintf(copy, size, "%s%s", text, behind);
  return copy;
}

uint32_t pipe_reader_abi(void) { return PIPE_READER_ABI; }

uint32_t pipe_reader_crc32c(uint32_t so_far, const void* bytes, size_t size) {
  return pipe_crc32c(so_far, bytes, size);
}

static int fill_in(pipe_reader* reader, const pipe_reader_options* options, const pipe_reader_shard* shards,
                   size_t shard_count) {
  if (options->seq_len < 1 || options->seq_len > 1u << 24 || options->vocab_size > INT32_MAX)
    return refuse(reader, PIPE_READER_ARGUMENT, "seq_len or vocab_size is out of range");
  if (options->id_bytes != 0 && options->id_bytes != 2 && options->id_bytes != 4)
    return refuse(reader, PIPE_READER_ARGUMENT, "id_bytes is none of 0, 2, 4");
  if (options->weights > 1) return refuse(reader, PIPE_READER_ARGUMENT, "weights is neither 0 nor 1");
  if (options->weights != 0 && options->id_bytes != 0)
    return refuse(reader, PIPE_READER_ARGUMENT, "rows of plain ids have no weights");
  reader->rules = (pipe_row_rules){options->seq_len + 1, options->vocab_size, options->fill_id,
                                   options->id_bytes, options->weights};
  reader->directory = copy_of(options->directory, "/");
  reader->shards = calloc(shard_count + 1, sizeof *reader->shards);
  if (options->blocks != NULL) {
    reader->blocks = copy_of(options->blocks, "/");
    if (reader->blocks == NULL) return PIPE_READER_MEMORY;
  }
  if (reader->directory == NULL || reader->shards == NULL) return PIPE_READER_MEMORY;
  for (; reader->shard_count < shard_count; ++reader->shard_count) {
    const pipe_reader_shard* const from = &shards[reader->shard_count];
    pipe_shard* const to = &reader->shards[reader->shard_count];
    if (from->rows > kMostRows - reader->rows)
      return refuse(reader, PIPE_READER_ARGUMENT, "more than 2^40 rows");
    *to = (pipe_shard){.object = copy_of(from->object, ""),
                       .index = copy_of(from->index, ""),
                       .rows = from->rows,
                       .targets = from->targets,
                       .bytes = from->bytes,
                       .chars = from->chars,
                       .first_row = reader->rows,
                       .number = reader->shard_count,
                       .in_blocks = reader->blocks != NULL,
                       .file = -1,
                       .size = from->size};
    if (to->object == NULL || to->index == NULL) {
      ++reader->shard_count; /* close() frees what this one has */
      return PIPE_READER_MEMORY;
    }
    reader->rows += from->rows;
  }
  if (reader->rows > 0) pipe_sample_order_start(&reader->order, reader->rows, options->seed);
  return PIPE_READER_OK;
}

int pipe_reader_open(const pipe_reader_options* options, const pipe_reader_shard* shards, size_t shard_count,
                     pipe_reader** reader, char* error, size_t error_size) {
  pipe_reader* const made = calloc(1, sizeof *made);
  const int code = made == NULL ? PIPE_READER_MEMORY : fill_in(made, options, shards, shard_count);
  *reader = made;
  if (code == PIPE_READER_OK) return code;
  (void)snprintf(error, error_size, "%s", code == PIPE_READER_MEMORY ? "no memory" : made->error);
  pipe_reader_close(made);
  *reader = NULL;
  return code;
}

void pipe_reader_close(pipe_reader* reader) {
  if (reader == NULL) return;
  for (size_t number = 0; number < reader->shard_count; ++number) {
    pipe_shard_close(&reader->shards[number]);
    free(reader->shards[number].object);
    free(reader->shards[number].index);
  }
  free(reader->shards);
  free(reader->directory);
  free(reader->blocks);
  free(reader->buffer);
  free(reader);
}

const char* pipe_reader_last_error(const pipe_reader* reader) { return reader->error; }

static int check_range(pipe_reader* reader, int order, uint64_t first, uint64_t count) {
  reader->error[0] = '\0';
  if (order == PIPE_READER_IN_ORDER ? first <= reader->rows && count <= reader->rows - first
                                    : order == PIPE_READER_SHUFFLED && first <= INT64_MAX &&
                                          count <= INT64_MAX - first && (reader->rows > 0 || count == 0))
    return PIPE_READER_OK;
  return refuse(reader, PIPE_READER_ARGUMENT, "rows are asked for that the split does not have");
}

static uint64_t row_of(pipe_reader* reader, int order, uint64_t sample) {
  return order == PIPE_READER_SHUFFLED ? pipe_sample_order_row(&reader->order, sample) : sample;
}

int pipe_reader_plan(pipe_reader* reader, int order, uint64_t first, uint64_t count, uint64_t* rows) {
  const int code = check_range(reader, order, first, count);
  if (code != PIPE_READER_OK) return code;
  for (uint64_t number = 0; number < count; ++number) rows[number] = row_of(reader, order, first + number);
  return PIPE_READER_OK;
}

/* The last shard that begins at or before `row`: of those that begin at the same row all but the last are
 * empty. */
static pipe_shard* shard_of(pipe_reader* reader, uint64_t row) {
  size_t low = 0;
  size_t high = reader->shard_count;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (reader->shards[middle].first_row <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return &reader->shards[low];
}

static int open_shard(pipe_reader* reader, pipe_shard* shard) {
  shard->last_use = ++reader->uses;
  if (shard->entries != NULL) return PIPE_READER_OK;
  if (reader->open_shards >= kOpenShards) {
    pipe_shard* oldest = NULL;
    for (size_t number = 0; number < reader->shard_count; ++number) {
      pipe_shard* const other = &reader->shards[number];
      if (other->entries != NULL && (oldest == NULL || other->last_use < oldest->last_use)) oldest = other;
    }
    pipe_shard_close(oldest);
    --reader->open_shards;
  }
  const int code = pipe_shard_open(shard, reader->directory, reader->rules.ids - 1, reader->error);
  if (code != PIPE_READER_OK) return code;
  ++reader->open_shards;
  return PIPE_READER_OK;
}

static int reserve(pipe_reader* reader, uint64_t size) {
  if (size <= reader->buffer_size) return PIPE_READER_OK;
  const uint64_t grown = size < kReadAtOnce ? kReadAtOnce : size;
  free(reader->buffer);
  reader->buffer = malloc(grown);
  reader->buffer_size = reader->buffer == NULL ? 0 : grown;
  return reader->buffer == NULL ? PIPE_READER_MEMORY : PIPE_READER_OK;
}

/* An index may say that a row is as long as the file: no row is longer than this. */
static uint64_t longest_row(const pipe_reader* reader) { return (uint64_t)reader->rules.ids * 10 + 64; }

/* Rows `row` to `row + *count - 1` of the shard into the buffer: as many of them as one read takes, at least
 * one. */
static int read_rows(pipe_reader* reader, const pipe_shard* shard, uint64_t row, uint64_t* count) {
  const uint64_t from = pipe_shard_offset(shard, row);
  uint64_t taken = 1;
  if (reader->blocks != NULL && *count > pipe_shard_block_end(shard, row) - row)
    *count = pipe_shard_block_end(shard, row) - row;
  while (taken < *count && pipe_shard_offset(shard, row + taken + 1) - from <= kReadAtOnce) ++taken;
  *count = taken;
  const uint64_t to = pipe_shard_offset(shard, row + taken);
  if (taken == 1 && to - from > longest_row(reader)) {
    (void)snprintf(reader->error, sizeof reader->error,
                   "%.250s: the row at byte %" PRIu64 " has %" PRIu64 " bytes by its index, too many for one",
                   shard->object, from, to - from);
    return PIPE_READER_DATA;
  }
  int code = reserve(reader, to - from);
  if (code == PIPE_READER_OK && reader->blocks != NULL)
    code = pipe_shard_read_block(shard, reader->blocks, row, from, to, reader->buffer, reader->error);
  else if (code == PIPE_READER_OK)
    code = pipe_shard_read(shard, from, to, reader->buffer, reader->error);
  return code;
}

/* How many of the `count` samples from `sample` on are rows that follow `row` in its shard. */
static uint64_t run_length(const pipe_shard* shard, int order, uint64_t row, uint64_t count) {
  if (order == PIPE_READER_SHUFFLED) return 1;
  const uint64_t left = shard->first_row + shard->rows - row;
  return count < left ? count : left;
}

int pipe_reader_fill(pipe_reader* reader, int order, uint64_t first, uint64_t count, int32_t* tokens,
                     int32_t* lengths, int64_t* bytes, int64_t* chars, uint8_t* weights) {
  int code = check_range(reader, order, first, count);
  if (code == PIPE_READER_OK && (weights != NULL) != (reader->rules.weights != 0))
    return refuse(reader, PIPE_READER_ARGUMENT, "weights are asked for, or left out, against the options");
  for (uint64_t number = 0; code == PIPE_READER_OK && number < count;) {
    const uint64_t row = row_of(reader, order, first + number);
    pipe_shard* const shard = shard_of(reader, row);
    code = open_shard(reader, shard);
    if (code != PIPE_READER_OK) break;
    const uint64_t first_of_read = row - shard->first_row;
    uint64_t taken = run_length(shard, order, row, count - number);
    code = read_rows(reader, shard, first_of_read, &taken);
    const uint64_t from = code == PIPE_READER_OK ? pipe_shard_offset(shard, first_of_read) : 0;
    for (uint64_t next = first_of_read; code == PIPE_READER_OK && next < first_of_read + taken;
         ++next, ++number) {
      const uint64_t at = pipe_shard_offset(shard, next);
      const pipe_row_facts facts = pipe_shard_facts(shard, next);
      char error[kPipeErrorBytes];
      if (!pipe_row_read(&reader->rules, reader->buffer + (at - from),
                         pipe_shard_offset(shard, next + 1) - at, facts.length, at,
                         tokens + number * reader->rules.ids,
                         weights == NULL ? NULL : weights + number * reader->rules.ids, error)) {
        (void)snprintf(reader->error, sizeof reader->error, "%.250s: %s", shard->object, error);
        code = PIPE_READER_DATA;
        break;
      }
      lengths[number] = (int32_t)facts.length;
      bytes[number] = facts.bytes;
      chars[number] = facts.chars;
    }
  }
  if (code == PIPE_READER_MEMORY) return refuse(reader, code, "no memory");
  return code;
}
