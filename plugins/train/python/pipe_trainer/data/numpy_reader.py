"""libpipe_reader in numpy, with the same messages (plugins/train/reader/pipe_reader.h), for use if the library is
missing."""

import bisect
import os
from collections import OrderedDict

import numpy as np

from . import order
from .crc32c import masked
from .wire import field, only, varints

OPEN_SHARDS = 64
ENTRY = np.dtype([("offset", "<u8"), ("length", "<u4"), ("bytes", "<u4"), ("chars", "<u4")])


class Damage(Exception):
    """The message is `OBJECT: the damage`."""


class NumpyReader:
    def __init__(self, directory, shards, seq_len, vocab_size, fill_id, seed, id_bytes=0, weights=False,
                 blocks=None):
        self._directory, self._shards = str(directory), shards
        self._ids, self._vocab, self._fill, self._seed = seq_len + 1, vocab_size, fill_id, seed
        self._id_bytes = id_bytes  # 0: rows are Examples
        self._weights = weights    # whether each row has them
        self._blocks = blocks      # directory of the rows, in files by block; None: they are in the shards
        self._ends = np.cumsum([shard.rows for shard in shards]).tolist()
        self.rows = self._ends[-1] if shards else 0
        self._open = OrderedDict()  # number of a shard: (descriptor, size, entries), the least recently used first

    def close(self):
        while self._open:
            self._forget()

    def _forget(self, last=True):
        descriptor = self._open.popitem(last)[1][0]
        if descriptor is not None:
            os.close(descriptor)

    def plan(self, shuffled, first, count):
        if shuffled:
            return order.rows_of(first, count, self.rows, self._seed)
        if first < 0 or count < 0 or first + count > self.rows:
            raise ValueError("rows are asked for that the split does not have")
        return np.arange(first, first + count, dtype=np.int64)

    def fill(self, shuffled, first, tokens, lengths, size, chars, weights=None):
        if self._weights != (weights is not None):
            raise ValueError("weights are asked for, or left out, against the options")
        for number, row in enumerate(self.plan(shuffled, first, len(tokens)).tolist()):
            at = bisect.bisect_right(self._ends, row)
            begin = self._ends[at - 1] if at else 0
            entry = self._read(at, row - begin, tokens[number], None if weights is None else weights[number])
            lengths[number], size[number], chars[number] = entry["length"], entry["bytes"], entry["chars"]

    def _read(self, number, row, tokens, weights):
        name = self._shards[number].object
        descriptor, size, entries = self._opened(number)
        at = int(entries[row]["offset"])
        end = int(entries[row + 1]["offset"]) if row + 1 < len(entries) else size
        if end - at > self._ids * 10 + 64:
            raise Damage(f"{name}: the row at byte {at} has {end - at} bytes by its index, too many for one")
        frame = (read_all(descriptor, name, at, end) if descriptor is not None else
                 self._read_block(number, row, entries, at, end))
        tokens[:], found = self._row(name, frame, int(entries[row]["length"]), at)
        if self._weights:
            weights[:] = found
        return entries[row]

    def _row(self, name, frame, length, at):
        ids, weights = (self._raw(name, frame, at), None) if self._id_bytes else self._example(name, frame, at)
        strange = np.flatnonzero(ids >= self._vocab)
        if strange.size:
            raise Damage(f"{name}: the row at byte {at}: id {strange[0]} is none of the tokenizer's "
                         f"{self._vocab} pieces")
        other = np.flatnonzero(ids[length:] != self._fill)
        if other.size:
            raise Damage(f"{name}: the row at byte {at}: id {length + other[0]}, behind its length of "
                         f"{length}, does not fill it")
        if self._weights:
            self._check_weights(f"{name}: the row at byte {at}", weights, length)
        return ids, weights

    def _check_weights(self, where, weights, length):
        neither = np.flatnonzero((weights < 0) | (weights > 1))
        if neither.size:
            raise Damage(f"{where} has the weight {weights[neither[0]]}, neither 0 nor 1")
        if weights[0] or weights[length:].any():
            raise Damage(f"{where} has a weight at its context or its padding")

    def _raw(self, name, row, at):
        if len(row) != self._ids * self._id_bytes:
            raise Damage(f"{name}: the row at byte {at} has {len(row)} bytes by its index, by packed.json "
                         f"{self._ids * self._id_bytes}")
        return np.frombuffer(row, f"<u{self._id_bytes}").astype(np.int64)

    def _example(self, name, frame, at):
        data = frame_data(name, frame, at)
        lists = _lists_of(data)
        where = f"{name}: the row at byte {at}"
        if lists is None:
            raise Damage(f'{where} is no Example of one int64 list "tokens"')
        if self._weights and lists[1] is None:
            raise Damage(f"{where} has no weights")
        if not self._weights and lists[1] is not None:
            raise Damage(f"{where} has weights, which packed.json does not name")
        ids = varints(np.frombuffer(lists[0], np.uint8))
        if len(ids) != self._ids:
            raise Damage(f"{where} has {len(ids)} ids, by packed.json {self._ids}")
        if not self._weights:
            return ids, None
        weights = _signed(lists[1])
        if len(weights) != self._ids:
            raise Damage(f"{where} has {len(weights)} weights instead of {self._ids}")
        return ids, weights

    def _read_block(self, number, row, entries, at, end):
        """Reads bytes of a shard from the file of the block that has the row."""
        begin = self._ends[number] - len(entries)
        block = (begin + row) // order.BLOCK
        base = int(entries[max(block * order.BLOCK - begin, 0)]["offset"])
        name = f"{block}-{number}"
        descriptor, _ = open_file(self._blocks, name)
        try:
            return read_all(descriptor, name, at - base, end - base)
        finally:
            os.close(descriptor)

    def _opened(self, number):
        """Returns the descriptor of a shard (None: its rows are in blocks), its size and its index."""
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        if len(self._open) >= OPEN_SHARDS:
            self._forget(last=False)
        shard = self._shards[number]
        descriptor, size = (None, shard.size) if self._blocks is not None else open_file(self._directory, shard.object)
        try:
            entries = self._index(shard, size)
        except BaseException:
            if descriptor is not None:
                os.close(descriptor)
            raise
        self._open[number] = descriptor, size, entries
        return self._open[number]

    def _index(self, shard, shard_size):
        name = shard.index
        descriptor, size = open_file(self._directory, name)
        try:
            if size != shard.rows * ENTRY.itemsize:
                raise Damage(f"{name}: {size} bytes, where the {shard.rows} rows of packed.json take "
                             f"{shard.rows * ENTRY.itemsize}")
            entries = np.frombuffer(read_all(descriptor, name, 0, size), ENTRY)
        finally:
            os.close(descriptor)
        _check_entries(shard, entries, shard_size, self._ids)
        return entries


def open_file(directory, name):
    """Returns (the descriptor of a file, its size)."""
    try:
        descriptor = os.open(f"{directory}/{name}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise Damage(f"{name}: cannot be opened: {error.strerror}") from None
    try:
        return descriptor, os.lseek(descriptor, 0, os.SEEK_END)
    except OSError:
        os.close(descriptor)
        raise Damage(f"{name}: is no file") from None


def frame_data(name, frame, at):
    """Returns the data of a frame of TFRecord, which an index, or the frame before, found at byte `at`."""
    if len(frame) < 16:
        raise Damage(f"{name}: the row at byte {at} has {len(frame)} bytes by its index, too few for one")
    if int.from_bytes(frame[8:12], "little") != masked(frame[:8]):
        raise Damage(f"{name}: damaged at byte {at}: the CRC of the length does not fit")
    size = int.from_bytes(frame[:8], "little")
    if size != len(frame) - 16:
        raise Damage(f"{name}: the row at byte {at} has {size} bytes, its index leaves {len(frame) - 16}")
    data = frame[12:-4]
    if int.from_bytes(frame[-4:], "little") != masked(data):
        raise Damage(f"{name}: damaged at byte {at}: the CRC of the data does not fit")
    return data


def _check_entries(shard, entries, shard_size, ids):
    offsets, lengths = entries["offset"], entries["length"]
    out_of_order = np.zeros(len(entries), bool)
    out_of_order[1:] = offsets[1:] <= offsets[:-1]
    out_of_order[:1] = offsets[:1] != 0
    behind, wrong_length = offsets >= shard_size, (lengths < 2) | (lengths > ids)
    wrong = np.flatnonzero(out_of_order | behind | wrong_length)
    if wrong.size:
        at = int(wrong[0])
        where = f"{shard.index}: entry {at} at byte {at * ENTRY.itemsize}"
        if out_of_order[at]:
            raise Damage(f"{where}: offset {offsets[at]} does not follow the one before")
        if behind[at]:
            raise Damage(f"{shard.object}: ends at byte {shard_size}, and its index has a row at byte "
                         f"{offsets[at]}")
        raise Damage(f"{where}: length {lengths[at]}, where a row has 2 to {ids}")
    targets = int(lengths.sum(dtype=np.uint64)) - len(entries)
    size, chars = (int(entries[name].sum(dtype=np.uint64)) for name in ("bytes", "chars"))
    if (targets, size, chars) != (shard.targets, shard.bytes, shard.chars):
        raise Damage(f"{shard.index}: its rows have {targets} targets, {size} bytes and {chars} characters; "
                     f"packed.json counts {shard.targets}, {shard.bytes} and {shard.chars}")


def read_all(descriptor, name, begin, end):
    parts, at = [], begin
    while at < end:
        try:
            part = os.pread(descriptor, min(end - at, 1 << 30), at)
        except OSError as error:
            raise Damage(f"{name}: cannot be read at byte {at}: {error.strerror}") from None
        if not part:
            raise Damage(f"{name}: ends at byte {at}, inside what is read from byte {begin}")
        parts.append(part)
        at += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _list_of(feature, name):
    """Returns the varints of the int64 list `name`, if that is the whole feature; else None."""
    named = field(feature, 0x0A)
    if named is None or named[0] != name:
        return None
    numbers = named[1]
    for tag in (0x12, 0x1A, 0x0A):
        numbers = only(numbers, tag)
    return None if numbers is None or numbers[-1:] >= b"\x80" else numbers


def _lists_of(data):
    """Returns the varints of the list `tokens` and those of `weights` behind it (None: there is none), if they are the
    whole Example; else None."""
    first = field(only(data, 0x0A), 0x0A)
    if first is None:
        return None
    tokens = _list_of(first[0], b"tokens")
    if not first[1]:
        return None if tokens is None else (tokens, None)
    second = only(first[1], 0x0A)
    weights = None if second is None else _list_of(second, b"weights")
    return None if tokens is None or weights is None else (tokens, weights)


def _signed(numbers):
    """Decodes all varints as int64. Weights are single bytes; the others are read to name them in an error."""
    found = np.frombuffer(numbers, np.uint8)
    if not (found >= 0x80).any():
        return found.astype(np.int64)
    values, value, shift = [], 0, 0
    for byte in numbers:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value & 0xFFFF_FFFF_FFFF_FFFF)
            value = shift = 0
    return np.array(values, np.uint64).view(np.int64)
