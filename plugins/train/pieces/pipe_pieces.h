/* libpipe_pieces: converts text to ids and back for the trainer's Python, with the library of the stage
 * `encode`. So a prompt gets the same ids as the corpus, whatever the versions of Python and of its
 * SentencePiece wheels.
 *
 * A tokenizer is immutable; threads may share one. pipe_trainer/data/pieces.py loads this library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_PIECES_ABI 1u
#define PIPE_PIECES_API __attribute__((visibility("default")))

typedef struct pipe_pieces pipe_pieces;

PIPE_PIECES_API uint32_t pipe_pieces_abi(void);

/* Opens the bytes of a tokenizer.model. Null: the library refuses them; `error` has the reason. */
PIPE_PIECES_API pipe_pieces* pipe_pieces_open(const char* model, size_t bytes, char* error,
                                              size_t error_bytes);
PIPE_PIECES_API void pipe_pieces_close(pipe_pieces* pieces);

/* Converts a line in UTF-8 to ids, and ids to text. Each returns the full number of ids or bytes, and
 * writes at most `room` of them. -1: the library refuses, for example an id that the tokenizer lacks. */
PIPE_PIECES_API int64_t pipe_pieces_encode(const pipe_pieces* pieces, const char* line, size_t bytes,
                                           uint32_t* ids, size_t room);
PIPE_PIECES_API int64_t pipe_pieces_decode(const pipe_pieces* pieces, const uint32_t* ids, size_t count,
                                           char* text, size_t room);

#ifdef __cplusplus
}
#endif
