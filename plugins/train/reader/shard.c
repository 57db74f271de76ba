#define _FILE_OFFSET_BITS 64 /* 64-bit offsets on every machine */

#include "plugins/train/reader/shard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/train/reader/pipe_reader.h"
#include "plugins/train/reader/sample_order.h"

enum { kEntryBytes = 20, kLeastLength = 2 };

__attribute__((format(printf, 3, 4))) static int wrong(char* error, const char* object, const char* form,
                                                       ...) {
  va_list values;
  int size = snprintf(error, kPipeErrorBytes, "%s: ", object);
  if (size < 0 || size >= kPipeErrorBytes) size = kPipeErrorBytes - 1;
  va_start(values, form);
  (void)vsnprintf(error + size, kPipeErrorBytes, form, values);
  va_end(values);
  return PIPE_READER_DATA;
}

/* No waiting at a pipe that stands where a file should, and no fstat(), which has a new symbol in every other
 * libc. */
static int open_file(const char* directory, const char* name, int* file, uint64_t* size, char* error) {
  const size_t path_size = strlen(directory) + strlen(name) + 1;
  char* const path = malloc(path_size);
  if (path == NULL) return PIPE_READER_MEMORY;
  (void)snprintf(path, path_size, "%s%s", directory, name);
  do {
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (*file < 0 && errno == EINTR);
  const int failure = errno;
  free(path);
  if (*file < 0) return wrong(error, name, "cannot be opened: %s", strerror(failure));
  const off_t end = lseek(*file, 0, SEEK_END);
  if (end < 0) {
    (void)close(*file);
    *file = -1;
    return wrong(error, name, "is no file");
  }
  *size = (uint64_t)end;
  return PIPE_READER_OK;
}

static int read_all(int file, const char* name, uint64_t from, uint64_t to, unsigned char* bytes,
                    char* error) {
  for (uint64_t at = from; at < to;) {
    const uint64_t wanted = to - at < (1u << 30) ? to - at : (1u << 30);
    const ssize_t got = pread(file, bytes + (at - from), wanted, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wrong(error, name, "cannot be read at byte %" PRIu64 ": %s", at, strerror(errno));
    if (got == 0)
      return wrong(error, name, "ends at byte %" PRIu64 ", inside what is read from byte %" PRIu64, at, from);
    at += (uint64_t)got;
  }
  return PIPE_READER_OK;
}

uint64_t pipe_shard_offset(const pipe_shard* shard, uint64_t row) {
  return row == shard->rows ? shard->size : little_endian(shard->entries + row * kEntryBytes, 8);
}

pipe_row_facts pipe_shard_facts(const pipe_shard* shard, uint64_t row) {
  const unsigned char* const entry = shard->entries + row * kEntryBytes + 8;
  const pipe_row_facts facts = {(uint32_t)little_endian(entry, 4), (uint32_t)little_endian(entry + 4, 4),
                                (uint32_t)little_endian(entry + 8, 4)};
  return facts;
}

static int check_entries(const pipe_shard* shard, uint32_t seq_len, char* error) {
  uint64_t targets = 0;
  uint64_t bytes = 0;
  uint64_t chars = 0;
  for (uint64_t row = 0; row < shard->rows; ++row) {
    const uint64_t offset = pipe_shard_offset(shard, row);
    const pipe_row_facts facts = pipe_shard_facts(shard, row);
    if (row == 0 ? offset != 0 : offset <= pipe_shard_offset(shard, row - 1))
      return wrong(error, shard->index,
                   "entry %" PRIu64 " at byte %" PRIu64 ": offset %" PRIu64 " does not follow the one before",
                   row, row * kEntryBytes, offset);
    if (offset >= shard->size)
      return wrong(error, shard->object, "ends at byte %" PRIu64 ", and its index has a row at byte %" PRIu64,
                   shard->size, offset);
    if (facts.length < kLeastLength || facts.length > seq_len + 1)
      return wrong(error, shard->index,
                   "entry %" PRIu64 " at byte %" PRIu64 ": length %" PRIu32 ", where a row has 2 to %" PRIu32,
                   row, row * kEntryBytes, facts.length, seq_len + 1);
    targets += facts.length - 1;
    bytes += facts.bytes;
    chars += facts.chars;
  }
  if (targets != shard->targets || bytes != shard->bytes || chars != shard->chars)
    return wrong(error, shard->index,
                 "its rows have %" PRIu64 " targets, %" PRIu64 " bytes and %" PRIu64
                 " characters; packed.json counts %" PRIu64 ", %" PRIu64 " and %" PRIu64,
                 targets, bytes, chars, shard->targets, shard->bytes, shard->chars);
  return PIPE_READER_OK;
}

static int read_index(pipe_shard* shard, const char* directory, uint32_t seq_len, char* error) {
  int file = -1;
  uint64_t size = 0;
  int code = open_file(directory, shard->index, &file, &size, error);
  if (code != PIPE_READER_OK) return code;
  if (size != shard->rows * kEntryBytes) {
    code = wrong(error, shard->index,
                 "%" PRIu64 " bytes, where the %" PRIu64 " rows of packed.json take %" PRIu64, size,
                 shard->rows, shard->rows * kEntryBytes);
  } else {
    shard->entries = malloc(size + 1);
    code = shard->entries == NULL ? PIPE_READER_MEMORY
                                  : read_all(file, shard->index, 0, size, shard->entries, error);
  }
  (void)close(file);
  return code != PIPE_READER_OK ? code : check_entries(shard, seq_len, error);
}

int pipe_shard_open(pipe_shard* shard, const char* directory, uint32_t seq_len,
                    char error[kPipeErrorBytes * 2]) {
  int code = PIPE_READER_OK;
  if (!shard->in_blocks) code = open_file(directory, shard->object, &shard->file, &shard->size, error);
  if (code == PIPE_READER_OK) code = read_index(shard, directory, seq_len, error);
  if (code != PIPE_READER_OK) pipe_shard_close(shard);
  return code;
}

void pipe_shard_close(pipe_shard* shard) {
  if (shard->file >= 0) (void)close(shard->file);
  shard->file = -1;
  free(shard->entries);
  shard->entries = NULL;
}

static uint64_t block_of(const pipe_shard* shard, uint64_t row) {
  return (shard->first_row + row) / kPipeBlockRows;
}

uint64_t pipe_shard_block_end(const pipe_shard* shard, uint64_t row) {
  const uint64_t end = (block_of(shard, row) + 1) * kPipeBlockRows - shard->first_row;
  return end < shard->rows ? end : shard->rows;
}

int pipe_shard_read_block(const pipe_shard* shard, const char* directory, uint64_t row, uint64_t from,
                          uint64_t to, unsigned char* bytes, char error[kPipeErrorBytes * 2]) {
  const uint64_t block = block_of(shard, row);
  const uint64_t begin = block * kPipeBlockRows;
  const uint64_t first = begin > shard->first_row ? begin - shard->first_row : 0;
  const uint64_t base = pipe_shard_offset(shard, first);
  char name[64];
  int file = -1;
  uint64_t size = 0;
  (void)snprintf(name, sizeof name, "%" PRIu64 "-%" PRIu64, block, shard->number);
  /* Opened for each read: a file that is removed while it is open would keep its space. */
  int code = open_file(directory, name, &file, &size, error);
  if (code != PIPE_READER_OK) return code;
  code = read_all(file, name, from - base, to - base, bytes, error);
  (void)close(file);
  return code;
}

int pipe_shard_read(const pipe_shard* shard, uint64_t from, uint64_t to, unsigned char* bytes,
                    char error[kPipeErrorBytes * 2]) {
  return read_all(shard->file, shard->object, from, to, bytes, error);
}
