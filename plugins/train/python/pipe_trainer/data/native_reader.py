"""Calls libpipe_reader by ctypes; plugins/train/reader/pipe_reader.h documents it."""

import ctypes
import os

import numpy as np

from .libraries import beside
from .numpy_reader import Damage

ABI = 5
LIBRARY = "libpipe_reader.so"
VARIABLE = "PIPE_READER_LIBRARY"
DATA, ARGUMENT, MEMORY = 1, 2, 3
ERROR_BYTES = 512


class _Shard(ctypes.Structure):
    _fields_ = [("object", ctypes.c_char_p), ("index", ctypes.c_char_p), ("rows", ctypes.c_uint64),
                ("targets", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("chars", ctypes.c_uint64),
                ("size", ctypes.c_uint64)]


class _Options(ctypes.Structure):
    _fields_ = [("directory", ctypes.c_char_p), ("seed", ctypes.c_uint64), ("seq_len", ctypes.c_uint32),
                ("vocab_size", ctypes.c_uint32), ("fill_id", ctypes.c_uint32),
                ("id_bytes", ctypes.c_uint32), ("weights", ctypes.c_uint32), ("blocks", ctypes.c_char_p)]


def expected():
    """Returns whether a library should exist: then it is a mistake if it cannot be loaded."""
    return VARIABLE in os.environ or beside(VARIABLE, LIBRARY).exists()


def load():
    """Loads the library. Raises OSError if there is none that this machine can load."""
    path = beside(VARIABLE, LIBRARY)
    if not path.is_file():
        raise OSError(f"{path}: there is no such library")
    library = ctypes.CDLL(str(path))
    if not hasattr(library, "pipe_reader_abi") or library.pipe_reader_abi() != ABI:
        raise OSError(f"{path}: another version of {LIBRARY}; build pipe again")
    handle, order = ctypes.c_void_p, [ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64]
    library.pipe_reader_open.argtypes = [ctypes.POINTER(_Options), ctypes.POINTER(_Shard), ctypes.c_size_t,
                                         ctypes.POINTER(handle), ctypes.c_char_p, ctypes.c_size_t]
    library.pipe_reader_close.argtypes = [handle]
    library.pipe_reader_close.restype = None
    library.pipe_reader_last_error.argtypes = [handle]
    library.pipe_reader_last_error.restype = ctypes.c_char_p
    library.pipe_reader_plan.argtypes = [handle, *order, handle]
    library.pipe_reader_fill.argtypes = [handle, *order, handle, handle, handle, handle, handle]
    library.pipe_reader_crc32c.argtypes = [ctypes.c_uint32, handle, ctypes.c_size_t]
    library.pipe_reader_crc32c.restype = ctypes.c_uint32
    return library


def checksum():
    """Returns a function like crc32c.crc32c, for arrays, at the speed of the processor. It releases Python's lock.
    Raises OSError as `load` does."""
    library = load()
    return lambda data, so_far=0: library.pipe_reader_crc32c(so_far, data.ctypes.data, len(data))


class NativeReader:
    """Has the methods of NumpyReader. Python's lock is free while the library reads."""

    def __init__(self, directory, shards, seq_len, vocab_size, fill_id, seed, id_bytes=0, weights=False,
                 blocks=None):
        self._library, self._handle = load(), ctypes.c_void_p()
        self.rows = sum(shard.rows for shard in shards)
        table = (_Shard * max(1, len(shards)))()
        for entry, shard in zip(table, shards):
            entry.object, entry.index = shard.object.encode(), shard.index.encode()
            entry.rows, entry.targets = shard.rows, shard.targets
            entry.bytes, entry.chars, entry.size = shard.bytes, shard.chars, shard.size
        options = _Options(os.fsencode(directory), seed, seq_len, vocab_size, fill_id, id_bytes, int(weights),
                           None if blocks is None else os.fsencode(blocks))
        error = ctypes.create_string_buffer(ERROR_BYTES)
        code = self._library.pipe_reader_open(options, table, len(shards), self._handle, error, ERROR_BYTES)
        self._raise(code, error.value)

    def close(self):
        self._library.pipe_reader_close(self._handle)
        self._handle = ctypes.c_void_p()

    def plan(self, shuffled, first, count):
        rows = np.empty(max(count, 0), np.int64)
        self._call(self._library.pipe_reader_plan, shuffled, first, count, rows)
        return rows

    def fill(self, shuffled, first, tokens, lengths, size, chars, weights=None):
        self._call(self._library.pipe_reader_fill, shuffled, first, len(tokens), tokens, lengths, size, chars, weights)

    def _call(self, function, shuffled, first, count, *arrays):
        if not self._handle:
            raise ValueError("the reader is closed")
        if first < 0 or count < 0:
            raise ValueError(f"samples {first} .. + {count}: out of range")
        places = (None if array is None else array.ctypes.data for array in arrays)
        code = function(self._handle, int(shuffled), first, count, *places)
        if code:
            self._raise(code, self._library.pipe_reader_last_error(self._handle))

    @staticmethod
    def _raise(code, message):
        text = message.decode(errors="replace") if code else ""
        if code == DATA:
            raise Damage(text)
        if code == ARGUMENT:
            raise ValueError(text)
        if code == MEMORY:
            raise MemoryError(text)
