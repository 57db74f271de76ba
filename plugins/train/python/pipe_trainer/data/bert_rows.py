"""Masked pairs of sentences of a split (stages/export/bert/bert.md), in the order of training or of evaluation, as
rows.Rows gives packed rows. There is no index, so a shard is walked once, frame by frame, when its first row is read.
"""

import bisect
import os
import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from . import order
from .bert_info import read_bert_info
from .numpy_reader import OPEN_SHARDS, Damage, frame_data, open_file, read_all
from .packed_info import REMEDY, DataError
from .wire import field, only, varints

INT64_LIST, FLOAT_LIST, PACKED_VALUES = 0x1A, 0x12, 0x0A  # tags in a Feature, and in its list
AROUND = 16        # bytes of a frame around its data
WALKED = 8 << 20   # bytes of a shard that are read at once, to find its frames
# The features of an example in their order, and the lists that they are.
FEATURES = (("input_ids", INT64_LIST), ("input_mask", INT64_LIST), ("masked_lm_ids", INT64_LIST),
            ("masked_lm_positions", INT64_LIST), ("masked_lm_weights", FLOAT_LIST),
            ("next_sentence_labels", INT64_LIST), ("segment_ids", INT64_LIST))


class BertBatch(NamedTuple):
    """A batch of rows. P: the most masked ids of a row."""
    tokens: np.ndarray   # int32 [n, seq_len + 1]: some are masked; the last is padding
    lengths: np.ndarray  # int32 [n]: ids of each row, without padding
    second: np.ndarray   # int32 [n, 1]: where its second segment begins; without one, its length
    places: np.ndarray   # int32 [n, P]: of masked ids, ascending; 0 where there are no more
    hidden: np.ndarray   # int32 [n, P]: the ids that were there
    there: np.ndarray    # uint8 [n, P]: 1 for each of those
    random: np.ndarray   # int32 [n, 1]: 1 if the second segment does not follow the first
    bytes: np.ndarray    # int64 [n]: 0, because nobody knows how much text the masked ids are
    chars: np.ndarray
    weights: None = None


class BertRows:
    """The interface of rows.Rows."""
    weights, labels, reader, targets = False, None, "numpy", None  # nobody counted the masked ids

    def __init__(self, directory, split, seed=0):
        info = read_bert_info(directory, split)
        if split not in info.splits:
            raise DataError(f"{info.directory}: there is no split {split!r}; it has {', '.join(info.splits)}")
        self.directory, self.split, self.seed = info.directory, split, seed
        self.seq_len, self.predictions, self.tokenizer, self.digest = (
            info.seq_len, info.predictions, info.tokenizer, info.digest)
        self._shards = info.splits[split]
        self._ends = np.cumsum([shard.rows for shard in self._shards]).tolist()
        self.count = self._ends[-1]
        if not self.count:
            raise DataError(f"{info.directory}: split {split!r} has no rows; give it more of the documents")
        self._lock = threading.Lock()
        self._frames = {}           # number of a shard: where its frames begin, and where the last one ends
        self._open = OrderedDict()  # number of a shard: its descriptor, the least recently used first

    @property
    def model_path(self):
        return self.directory / self.tokenizer["model"]

    def shuffled(self, first_sample, n):
        """Returns `n` samples from `first_sample` on, in the order of plugins/train/reader/ORDER.md."""
        return self._batch(self.plan(first_sample, n))

    def in_order(self, first, n):
        """Returns `n` rows from `first` on; fewer at the end of the split."""
        return self._batch(np.arange(first, max(first, min(first + n, self.count))))

    def plan(self, first_sample, n):
        """Returns the numbers of the rows that shuffled() would return."""
        return order.rows_of(first_sample, n, self.count, self.seed)

    def close(self):
        with self._lock:
            while self._open:
                os.close(self._open.popitem()[1])

    def _batch(self, rows):
        n, most = len(rows), self.predictions
        widths = self.seq_len, self.seq_len, most, most, most, 1, self.seq_len
        values = [np.zeros((n, width), np.float32 if kind == FLOAT_LIST else np.int64)
                  for width, (_, kind) in zip(widths, FEATURES)]
        where = []
        try:
            with self._lock:
                for number, row in enumerate(rows.tolist()):
                    where.append(self._read([part[number] for part in values], row))
            self._check(where, *values)
        except Damage as error:
            raise DataError(f"{self.directory}/{error}{REMEDY}") from None
        ids, mask, hidden, places, there, random, segments = values
        lengths = mask.sum(axis=1, dtype=np.int32)
        nothing = np.zeros(n, np.int64)
        return BertBatch(np.pad(ids, ((0, 0), (0, 1))).astype(np.int32), lengths,
                     lengths[:, None] - segments.sum(axis=1, keepdims=True, dtype=np.int32), places.astype(np.int32),
                     hidden.astype(np.int32), there.astype(np.uint8), random.astype(np.int32), nothing, nothing)

    def _read(self, into, row):
        """Puts the values of a row into arrays, in the order of FEATURES. Returns its place, for messages."""
        shard = bisect.bisect_right(self._ends, row)
        name, descriptor = self._shards[shard].object, self._opened(shard)
        frames, own = self._frames[shard], row - (self._ends[shard - 1] if shard else 0)
        at, end = int(frames[own]), int(frames[own + 1])
        where = f"{name}: the row at byte {at}"
        values = values_of(frame_data(name, read_all(descriptor, name, at, end), at))
        if values is None or any(len(part) != len(place) for part, place in zip(values, into)):
            raise Damage(f"{where} has other features, or other lengths of them, than bert.json says")
        for place, part in zip(into, values):
            place[:] = part
        return where

    def _check(self, where, ids, mask, hidden, places, there, random, segments):
        """Raises Damage for a row that write_bert does not make."""
        vocab, index, slots = self.tokenizer["vocab_size"], np.arange(self.seq_len), np.arange(self.predictions)
        size, used, second = mask.sum(axis=1), there.sum(axis=1), segments.sum(axis=1)
        inside, of_second = index < size[:, None], index >= (size - second)[:, None]
        some = slots < used[:, None]
        ascends = np.diff(places, axis=1, prepend=0) > 0
        wrongs = {
            "its padding is not zeros at its end": (mask != inside) | (ids != 0) & ~inside,
            f"an id is none of the tokenizer's {vocab} pieces": np.any(ids >= vocab, 1) | np.any(hidden >= vocab, 1),
            "its second segment does not end with it": segments != (inside & of_second),
            "its weights are not ones in front of zeros": there != some,
            "its masked positions do not ascend within it": np.where(some, ~ascends | (places >= size[:, None]),
                                                                     (places != 0) | (hidden != 0)),
            "its label is neither 0 nor 1": random > 1,
        }
        for wrong, rows in wrongs.items():
            rows = rows if rows.ndim == 1 else rows.any(axis=1)
            if rows.any():
                raise Damage(f"{where[int(rows.argmax())]}: {wrong}")

    def _opened(self, number):
        """Returns the descriptor of a shard, whose frames are known from then on."""
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        if len(self._open) >= OPEN_SHARDS:
            os.close(self._open.popitem(last=False)[1])
        shard = self._shards[number]
        descriptor, size = open_file(self.directory, shard.object)
        try:
            if number not in self._frames:
                self._frames[number] = frames_of(shard, descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise
        self._open[number] = descriptor
        return descriptor


def frames_of(shard, descriptor, size):
    """Returns where each frame begins, and where the last one ends."""
    begins, at, here, base = np.empty(shard.rows + 1, np.uint64), 0, b"", 0
    for row in range(shard.rows):
        begins[row] = at
        if at + 8 > base + len(here):
            base, here = at, read_all(descriptor, shard.object, at, min(at + WALKED, size))
        at += int.from_bytes(here[at - base:at - base + 8], "little") + AROUND
        if at > size:
            raise Damage(f"{shard.object}: ends at byte {size}, inside the row at byte {int(begins[row])}")
    if at != size:
        raise Damage(f"{shard.object}: has {size - at} bytes behind its {shard.rows} rows")
    begins[shard.rows] = at
    return begins


def values_of(example):
    """Returns the values of an Example, in the order of FEATURES; None if it has others."""
    rest, found = only(example, 0x0A), []
    for name, kind in FEATURES:
        entry = field(rest, 0x0A)
        key = entry and field(entry[0], 0x0A)
        values = only(only(only(key[1], 0x12), kind), PACKED_VALUES) if key and key[0] == name.encode() else None
        if values is None:
            return None
        if kind == FLOAT_LIST and len(values) % 4:
            return None
        found.append(np.frombuffer(values, "<f4") if kind == FLOAT_LIST else numbers_in(values))
        rest = entry[1]
    return None if rest else found


def numbers_in(values):
    """The numbers of an int64 list. Most lists have one byte for each."""
    found = np.frombuffer(values, np.uint8)
    return varints(found) if len(found) and found.max() >= 0x80 else found
