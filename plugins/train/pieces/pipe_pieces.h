/* Text to ids and back for the trainer's Python: libpipe_pieces, over the library that the stage `encode`
 * has. So a prompt gets the ids that its corpus got, whatever Python there is, and whichever version of
 * SentencePiece has wheels for it.
 *
 * A tokenizer never changes; threads may share one. pipe_trainer/pieces.py loads it. */
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

/* Of the bytes of a tokenizer.model. Null where the library refuses them; `error` says why then. */
PIPE_PIECES_API pipe_pieces* pipe_pieces_open(const char* model, size_t bytes, char* error,
                                              size_t error_bytes);
PIPE_PIECES_API void pipe_pieces_close(pipe_pieces* pieces);

/* The ids of a line in UTF-8, and the text of ids. Each gives how many there are, and writes as many of them
 * as there is room for. -1 where the library refuses: an id that the tokenizer lacks. */
PIPE_PIECES_API int64_t pipe_pieces_encode(const pipe_pieces* pieces, const char* line, size_t bytes,
                                           uint32_t* ids, size_t room);
PIPE_PIECES_API int64_t pipe_pieces_decode(const pipe_pieces* pieces, const uint32_t* ids, size_t count,
                                           char* text, size_t room);

#ifdef __cplusplus
}
#endif
