/* One shard and its index, open while its rows are needed. */
#pragma once

#include "plugins/train/reader/row.h"

typedef struct {
  char* object; /* file name; owned, as is `index` */
  char* index;
  uint64_t rows;
  uint64_t targets;
  uint64_t bytes;
  uint64_t chars;
  uint64_t first_row; /* number in the split */
  uint64_t number;    /* of the shard in the split */
  int in_blocks;      /* its rows are in files of their own; `size` is given, and `file` stays -1 */

  int file;
  uint64_t size;
  unsigned char* entries; /* the whole index; null: closed */
  uint64_t last_use;
} pipe_shard;

typedef struct {
  uint32_t length;
  uint32_t bytes;
  uint32_t chars;
} pipe_row_facts;

/* Opens the shard, and reads and checks its index; returns a code of pipe_reader.h. `directory` ends with a
 * slash. `error` gets the object's name and the reason. */
int pipe_shard_open(pipe_shard* shard, const char* directory, uint32_t seq_len,
                    char error[kPipeErrorBytes * 2]);
void pipe_shard_close(pipe_shard* shard);

/* The offset at which row `row` of the open shard begins; for `rows`, the end of the last row. */
uint64_t pipe_shard_offset(const pipe_shard* shard, uint64_t row);
pipe_row_facts pipe_shard_facts(const pipe_shard* shard, uint64_t row);

/* The row behind the last one that is in a block with `row`; for a shard in blocks. */
uint64_t pipe_shard_block_end(const pipe_shard* shard, uint64_t row);
/* Reads the bytes [from, to) of the open shard, from its file in `directory`, which ends with a slash: the
 * block that has `row`. */
int pipe_shard_read_block(const pipe_shard* shard, const char* directory, uint64_t row, uint64_t from,
                          uint64_t to, unsigned char* bytes, char error[kPipeErrorBytes * 2]);

/* Reads the bytes [from, to) of the open shard, which is not in blocks. */
int pipe_shard_read(const pipe_shard* shard, uint64_t from, uint64_t to, unsigned char* bytes,
                    char error[kPipeErrorBytes * 2]);
