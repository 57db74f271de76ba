"""Converts text to ids and back: libpipe_pieces by ctypes (pieces/pipe_pieces.h).

The library contains the rules of the stage `normalize` and the encoders of the stage `encode`. A wheel would not do:
SentencePiece 0.1 has wheels only up to Python 3.11, and 0.2 decides otherwise between segmentations of equal score.
"""

import ctypes
from pathlib import Path

from ..exits import ENVIRONMENT, Ended
from .libraries import beside
from .vocabulary import is_vocabulary

ABI = 3
LIBRARY = "libpipe_pieces.so"
ERROR_BYTES = 512


class NativeRule(ctypes.Structure):
    """`pipe_pieces_rule`."""
    _fields_ = [("form", ctypes.c_char_p), ("letter_case", ctypes.c_char_p), ("keep_jamo", ctypes.c_int32),
                ("collapse", ctypes.c_int32)]


def load():
    """Loads the library. Raises Ended if this machine cannot load it."""
    path = beside("PIPE_PIECES_LIBRARY", LIBRARY)
    try:
        library = ctypes.CDLL(str(path))
        found = library.pipe_pieces_abi()
    except (OSError, AttributeError) as error:
        raise Ended(ENVIRONMENT, f"{path}: prompts and samples need this library, and it cannot be loaded: {error}; "
                                 f"build pipe again, or leave out `prompts`") from error
    if found != ABI:
        raise Ended(ENVIRONMENT, f"{path}: has version {found}, and this trainer wants {ABI}; build pipe again")
    handle, size = ctypes.c_void_p, ctypes.c_size_t
    library.pipe_pieces_open.argtypes = [ctypes.c_char_p, size, ctypes.c_int32, ctypes.POINTER(NativeRule), size,
                                         ctypes.c_char_p, size]
    library.pipe_pieces_open.restype = handle
    library.pipe_pieces_close.argtypes = [handle]
    library.pipe_pieces_close.restype = None
    for call, given, made in ((library.pipe_pieces_encode, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32)),
                              (library.pipe_pieces_decode, ctypes.POINTER(ctypes.c_uint32), ctypes.c_char_p)):
        call.argtypes, call.restype = [handle, given, size, made, size], ctypes.c_int64
    return library


class Pieces:
    """Converts text to ids and back. Raises RuntimeError for a model or an id that the library refuses. `rules`: of
    text.Rule, by which a line changes before it becomes ids."""

    def __init__(self, model_path, rules=()):
        self._library = load()
        model, error = Path(model_path).read_bytes(), ctypes.create_string_buffer(ERROR_BYTES)
        native = (NativeRule * len(rules))(*[
            NativeRule(rule.form.encode(), (rule.case or "").encode(), rule.keep_jamo, rule.whitespace == "collapse")
            for rule in rules])
        words = is_vocabulary(model_path)
        self._handle = self._library.pipe_pieces_open(model, len(model), words, native, len(rules), error, ERROR_BYTES)
        if not self._handle:
            raise RuntimeError(f"{model_path}: {error.value.decode(errors='replace')}")

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.pipe_pieces_close(self._handle)

    def encode(self, line):
        data = line.encode("utf-8", "replace")
        return list(self._all(self._library.pipe_pieces_encode, data, len(data), ctypes.c_uint32))

    def decode(self, ids):
        given = (ctypes.c_uint32 * len(ids))(*ids)
        text = bytes(self._all(self._library.pipe_pieces_decode, given, len(ids), ctypes.c_char))
        return text.decode("utf-8", "replace")

    def _all(self, call, given, count, kind):
        """Returns the output of `call` for `given`. Calls once more if the first buffer was too small."""
        room = 4 * count + 16
        while True:
            made = (kind * room)()
            found = call(self._handle, given, count, made, room)
            if found < 0:
                raise RuntimeError("the tokenizer lacks one of the ids that it was given")
            if found <= room:
                return made[:found]
            room = found
