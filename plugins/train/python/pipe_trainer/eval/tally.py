"""Counts how often each pair of ids occurs in rows, in bounded memory and time."""

import numpy as np

TABLE = 1 << 24      # maximum of possible pairs for one counter each (128 MiB; twice that while adding)
IN_TABLE = 10 ** 9   # maximum of targets counted in that way: half a minute
SORTED = 10 ** 8     # maximum of targets counted by sorting
PAIRS = 1 << 23      # distinct pairs; from this number on no more targets are counted: 128 MiB, at times twice that
AT_ONCE = 1 << 22    # targets


def bounds():
    """Returns the bounds that decide how many targets are counted."""
    return [TABLE, IN_TABLE, SORTED, PAIRS]


def count(parts, vocab, most=None):
    """Returns (codes in order, times, targets counted) of `parts`, arrays of previous * vocab + target. Takes parts as
    a whole. `most`: targets; None: as many as memory and time allow."""
    tally = _Table(vocab) if vocab * vocab <= TABLE else _Sorted()
    most = tally.most if most is None else most
    waiting, size, counted = [], 0, 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        counted += len(part)
        if size >= AT_ONCE or counted >= most:
            tally.add(np.concatenate(waiting))
            waiting, size = [], 0
        if counted >= most or tally.full:
            break
    if waiting:
        tally.add(np.concatenate(waiting))
    return *tally.pairs(), counted


class _Table:
    most, full = IN_TABLE, False

    def __init__(self, vocab):
        self._times = np.zeros(vocab * vocab, np.int64)

    def add(self, codes):
        self._times += np.bincount(codes, minlength=len(self._times))

    def pairs(self):
        codes = np.flatnonzero(self._times)
        return codes, self._times[codes]


class _Sorted:
    most = SORTED

    def __init__(self):
        self._codes, self._times = np.empty(0, np.int64), np.empty(0, np.int64)

    @property
    def full(self):
        return len(self._codes) >= PAIRS

    def add(self, codes):
        new, times = np.unique(codes, return_counts=True)
        codes, times = np.concatenate([self._codes, new]), np.concatenate([self._times, times])
        order = np.argsort(codes, kind="stable")  # two sorted runs: a stable sort merges them
        codes, times = codes[order], times[order]
        begins = np.flatnonzero(np.diff(codes, prepend=-1))
        self._codes, self._times = codes[begins], np.add.reduceat(times, begins) if len(codes) else times

    def pairs(self):
        return self._codes, self._times
