/* libpipe_pieces: converts text to ids and back for the trainer's Python, with the code of the stages
 * `normalize` and `encode`. So a prompt gets the same ids as the corpus, whatever the versions of Python, of
 * its Unicode tables and of its SentencePiece wheels.
 *
 * A tokenizer is immutable; threads may share one. pipe_trainer/data/pieces.py loads this library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_PIECES_ABI 3u
#define PIPE_PIECES_API __attribute__((visibility("default")))

typedef struct pipe_pieces pipe_pieces;

PIPE_PIECES_API uint32_t pipe_pieces_abi(void);

/* A stage `normalize` of the corpus, by the values of its keys (stages/lines/normalize.md). */
typedef struct pipe_pieces_rule {
  const char* form;        /* another text: none */
  const char* letter_case; /* the key `case`; another text: letters stay */
  int32_t keep_jamo;       /* the last two: 0 or 1 */
  int32_t collapse;
} pipe_pieces_rule;

/* Opens the bytes of a tokenizer.model, or with `vocabulary` 1 of a vocab.txt, whose words are those of a
 * text. `rules`, so many, change a text one after the other before it becomes ids. Null: the library refuses
 * the tokenizer; `error` has the reason. */
PIPE_PIECES_API pipe_pieces* pipe_pieces_open(const char* model, size_t bytes, int32_t vocabulary,
                                              const pipe_pieces_rule* rules, size_t count, char* error,
                                              size_t error_bytes);
PIPE_PIECES_API void pipe_pieces_close(pipe_pieces* pieces);

/* Converts a line in valid UTF-8 to ids, and ids to text. Each returns the full number of ids or bytes, and
 * writes at most `room` of them. -1: the library refuses, for example an id that the tokenizer lacks. */
PIPE_PIECES_API int64_t pipe_pieces_encode(const pipe_pieces* pieces, const char* line, size_t bytes,
                                           uint32_t* ids, size_t room);
PIPE_PIECES_API int64_t pipe_pieces_decode(const pipe_pieces* pieces, const uint32_t* ids, size_t count,
                                           char* text, size_t room);

#ifdef __cplusplus
}
#endif
