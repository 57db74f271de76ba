/* Reads packed rows (formats/packed.md) for a trainer: libpipe_reader, C99 and libc alone.
 *
 * It makes no thread and writes nothing. A reader is used by one thread at a time; readers are independent of
 * each other, and a forked child may go on with its copy. Every read checks both CRCs of an Example and holds
 * the row against its index; rows that are nothing but ids have no CRC. pipe_trainer/numpy_reader.py is the
 * same in numpy, down to the messages; ORDER.md says which row a sample is. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_READER_ABI 3u

#if defined(__GNUC__)
#define PIPE_READER_API __attribute__((visibility("default")))
#else
#define PIPE_READER_API
#endif

enum {
  PIPE_READER_OK = 0,
  PIPE_READER_DATA = 1,     /* the data are missing, damaged or not what was said of them */
  PIPE_READER_ARGUMENT = 2, /* the caller's mistake */
  PIPE_READER_MEMORY = 3
};

/* A shard of the split and its totals, as packed.json has them; both names are of files in the directory. */
typedef struct {
  const char* object;
  const char* index;
  uint64_t rows;
  uint64_t targets;
  uint64_t bytes;
  uint64_t chars;
} pipe_reader_shard;

typedef struct {
  const char* directory;
  uint64_t seed;       /* of the order */
  uint32_t seq_len;    /* a row has seq_len + 1 ids, at most 2^24 */
  uint32_t vocab_size; /* an id at or above it is refused; at most 2^31 - 1 */
  uint32_t fill_id;    /* what stands behind the length of a row */
  uint32_t id_bytes;   /* 0: rows are Examples; 2, 4: ids of so many bytes */
} pipe_reader_options;

/* In which order `first` and `count` of the calls below go through the split. */
enum {
  PIPE_READER_IN_ORDER = 0, /* rows as the shards have them; first + count is at most the number of rows */
  PIPE_READER_SHUFFLED = 1  /* samples of ORDER.md, from epoch to epoch without end */
};

typedef struct pipe_reader pipe_reader;

typedef struct {
  uint64_t rows;
  uint64_t rows_read;   /* since the reader was opened */
  uint64_t bytes_read;  /* of shards and indexes */
  uint32_t open_shards; /* each holds a descriptor and 20 bytes for each of its rows */
} pipe_reader_facts;

/* PIPE_READER_ABI of the library that was loaded. */
PIPE_READER_API uint32_t pipe_reader_abi(void);

/* CRC-32C of the bytes that `so_far` is that of, 0 for none, and of `size` more, at the speed of the
 * processor. It has nothing to do with a reader: checkpoints are held to it. Any number of threads at a time.
 */
PIPE_READER_API uint32_t pipe_reader_crc32c(uint32_t so_far, const void* bytes, size_t size);

/* Copies what it is given and opens no file: a shard is opened, and its whole index checked, when its first
 * row is wanted. At failure *reader is null and `error`, of `error_size` bytes, says why. */
PIPE_READER_API int pipe_reader_open(const pipe_reader_options* options, const pipe_reader_shard* shards,
                                     size_t shard_count, pipe_reader** reader, char* error,
                                     size_t error_size);

/* Null is allowed. */
PIPE_READER_API void pipe_reader_close(pipe_reader* reader);

/* Why the last call on `reader` failed: `OBJECT: what is wrong`, with the byte. Valid until the next call. */
PIPE_READER_API const char* pipe_reader_last_error(const pipe_reader* reader);

PIPE_READER_API void pipe_reader_info(const pipe_reader* reader, pipe_reader_facts* facts);

/* The numbers of the rows, counted over all shards, into `rows` [count]. Reads nothing. */
PIPE_READER_API int pipe_reader_plan(pipe_reader* reader, int order, uint64_t first, uint64_t count,
                                     uint64_t* rows);

/* The rows themselves: `tokens` [count][seq_len + 1], and of each its length in ids, and the bytes and
 * characters under its targets. What they hold after a failure is undefined. */
PIPE_READER_API int pipe_reader_fill(pipe_reader* reader, int order, uint64_t first, uint64_t count,
                                     int32_t* tokens, int32_t* lengths, int64_t* bytes, int64_t* chars);

#ifdef __cplusplus
}
#endif
