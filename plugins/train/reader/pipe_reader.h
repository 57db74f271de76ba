/* libpipe_reader: reads packed rows (stages/export/packed/packed.md) for a trainer. C99; needs only libc.
 *
 * It creates no threads and writes nothing. One thread at a time may use a reader; readers are independent,
 * and a forked child may continue with its copy. Every read checks both CRCs of an Example and compares the
 * row with its index; rows of plain ids have no CRC. pipe_trainer/data/numpy_reader.py does the same in
 * numpy, with the same messages. ORDER.md defines the row of each sample. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_READER_ABI 5u

#if defined(__GNUC__)
#define PIPE_READER_API __attribute__((visibility("default")))
#else
#define PIPE_READER_API
#endif

enum {
  PIPE_READER_OK = 0,
  PIPE_READER_DATA = 1,     /* the data are missing, damaged or not as described */
  PIPE_READER_ARGUMENT = 2, /* a mistake of the caller */
  PIPE_READER_MEMORY = 3
};

/* A shard of the split with its totals from packed.json; both names are files in the directory. */
typedef struct {
  const char* object;
  const char* index;
  uint64_t rows;
  uint64_t targets;
  uint64_t bytes;
  uint64_t chars;
  uint64_t size; /* of the shard in bytes; read only with `blocks` of the options */
} pipe_reader_shard;

typedef struct {
  const char* directory;
  uint64_t seed;       /* of the order */
  uint32_t seq_len;    /* a row has seq_len + 1 ids, at most 2^24 */
  uint32_t vocab_size; /* ids at or above it are refused; at most 2^31 - 1 */
  uint32_t fill_id;    /* the id that pads a row after its length */
  uint32_t id_bytes;   /* 0: rows are Examples; 2 or 4: plain ids of this many bytes */
  uint32_t weights;    /* 1: each row has weights; 0: none. Rows of plain ids have none */
  const char*
      blocks; /* null: rows are in the shards. Else in files of this directory, as rows/rows.md says */
} pipe_reader_options;

/* The order in which `first` and `count` of the calls below count rows of the split. */
enum {
  PIPE_READER_IN_ORDER = 0, /* the order in the shards; first + count is at most the number of rows */
  PIPE_READER_SHUFFLED = 1  /* the samples of ORDER.md, over an endless series of epochs */
};

typedef struct pipe_reader pipe_reader;

/* Returns PIPE_READER_ABI of the loaded library. */
PIPE_READER_API uint32_t pipe_reader_abi(void);

/* Extends the CRC-32C `so_far` (begin with 0) by `size` bytes, in hardware if possible. Needs no reader:
 * checkpoints are checked with it. Any number of threads. */
PIPE_READER_API uint32_t pipe_reader_crc32c(uint32_t so_far, const void* bytes, size_t size);

/* Copies its arguments and opens no file: a shard is opened, and its whole index checked, when its first
 * row is needed. On failure *reader is null and `error`, of `error_size` bytes, has the reason. */
PIPE_READER_API int pipe_reader_open(const pipe_reader_options* options, const pipe_reader_shard* shards,
                                     size_t shard_count, pipe_reader** reader, char* error,
                                     size_t error_size);

/* `reader` may be null. */
PIPE_READER_API void pipe_reader_close(pipe_reader* reader);

/* The error of the last failed call on `reader`: `OBJECT: what is wrong`, with the byte offset. Valid until
 * the next call. */
PIPE_READER_API const char* pipe_reader_last_error(const pipe_reader* reader);

/* Writes the row numbers, counted over all shards, to `rows` [count]. Reads nothing. */
PIPE_READER_API int pipe_reader_plan(pipe_reader* reader, int order, uint64_t first, uint64_t count,
                                     uint64_t* rows);

/* Reads the rows: `tokens` [count][seq_len + 1], and for each row its length in ids and the bytes and
 * characters of its targets; with weights, of its scored targets. `weights` [count][seq_len + 1]: 1 where the
 * id is a scored target, else 0; null exactly if the options say that there are none. After a failure the
 * contents are undefined. */
PIPE_READER_API int pipe_reader_fill(pipe_reader* reader, int order, uint64_t first, uint64_t count,
                                     int32_t* tokens, int32_t* lengths, int64_t* bytes, int64_t* chars,
                                     uint8_t* weights);

#ifdef __cplusplus
}
#endif
