"""Rows of a split, in the order of training or of evaluation. Their only state is the number of samples consumed."""

import threading
import weakref
from typing import NamedTuple

import numpy as np

from .native_reader import NativeReader, expected
from .numpy_reader import Damage, NumpyReader
from .packed_info import REMEDY, DataError, read_packed_info


class NothingScored(ValueError):
    """The rows have no scored target."""


class Batch(NamedTuple):
    tokens: np.ndarray   # int32 [n, seq_len + 1]
    lengths: np.ndarray  # int32 [n]: ids of each row, without fill ids
    bytes: np.ndarray    # int64 [n]: of the text of its targets
    chars: np.ndarray    # int64 [n]
    weights: np.ndarray | None = None  # uint8 [n, seq_len + 1]: 1 at a scored target, else 0; None: all are scored


class Rows:
    """`native`: True needs the library, False uses numpy, None uses the library if there is one. Both give the same
    bytes and the same errors. `blocks`: a blocks.Blocks if the stage fetches rows while the training runs. Threads may
    share it; their reads follow each other."""
    predictions = None  # the most masked ids of a row; BertRows has such

    def __init__(self, packed_dir, split, seed=0, native=None, blocks=None):
        info = read_packed_info(packed_dir, split, blocks is not None and blocks.split == split)
        if split not in info.splits:
            raise DataError(f"{info.directory}: there is no split {split!r}; it has {', '.join(info.splits)}")
        self.directory, self.split, self.seed = info.directory, split, seed
        self.seq_len, self.fill_id, self.tokenizer, self.digest = (
            info.seq_len, info.fill_id, info.tokenizer, info.digest)
        shards = info.splits[split]
        self.weights, self.labels = info.weights, info.labels
        self.count, self.targets, self.bytes, self.chars = (
            sum(getattr(shard, name) for shard in shards)
            for name in ("rows", "scored" if info.weights else "targets", "bytes", "chars"))
        if not self.count:
            raise DataError(f"{info.directory}: split {split!r} has no rows; give it more of the documents")
        if not self.targets and info.weights:
            raise DataError(f"{info.directory}: split {split!r} has no scored target: its weights are all 0{REMEDY}")
        self._lock = threading.Lock()
        self._blocks = blocks.of_shards(shards, seed) if blocks is not None and blocks.split == split else None
        arguments = (info.directory, shards, info.seq_len, self.tokenizer["vocab_size"], info.fill_id, seed,
                     info.id_bytes, info.weights, self._blocks and self._blocks.directory)
        self._reader, self.reader = None, "numpy"
        if native is not False:
            try:
                self._reader, self.reader = NativeReader(*arguments), "native"
            except OSError:
                if native or expected():
                    raise
        if self._reader is None:
            self._reader = NumpyReader(*arguments)
        weakref.finalize(self, self._reader.close)  # if it is dropped without close()

    @property
    def model_path(self):
        return self.directory / self.tokenizer["model"]

    def shuffled(self, first_sample, n):
        """Returns `n` samples from `first_sample` on, in the order of plugins/train/reader/ORDER.md."""
        return self._fill(True, first_sample, n)

    def in_order(self, first, n):
        """Returns `n` rows from `first` on; fewer at the end of the split."""
        return self._fill(False, first, max(0, min(n, self.count - first)))

    def plan(self, first_sample, n):
        """Returns the numbers of the rows that shuffled() would return."""
        return self._reader.plan(True, first_sample, n)

    def close(self):
        with self._lock:
            self._reader.close()

    def _fill(self, shuffled, first, n):
        batch = Batch(np.empty((n, self.seq_len + 1), np.int32), np.empty(n, np.int32), np.empty(n, np.int64),
                      np.empty(n, np.int64), np.empty((n, self.seq_len + 1), np.uint8) if self.weights else None)
        try:
            with self._lock:
                for at, size in self._parts(shuffled, first, n):
                    self._reader.fill(shuffled, first + at, *(part if part is None else part[at:at + size]
                                                              for part in batch))
        except Damage as error:
            raise DataError(f"{self.directory}/{error}{REMEDY}") from None
        return batch

    def _parts(self, shuffled, first, n):
        """Yields (offset, size) of the parts of a read, each when its rows are here."""
        return [(0, n)] if self._blocks is None else self._blocks.parts(shuffled, first, n)
