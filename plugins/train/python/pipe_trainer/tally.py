"""How often each pair of ids comes in rows, in bounded memory and time."""

import numpy as np

TABLE = 1 << 24      # pairs that there may be at most for one counter each (128 MiB, and as much while it is added to)
IN_TABLE = 10 ** 9   # targets that are counted so at most: half a minute
SORTED = 10 ** 8     # targets that are counted by sorting, at most
PAIRS = 1 << 23      # different ones, from where on no more targets are counted: 128 MiB, and twice that in between
AT_ONCE = 1 << 22    # targets


def bounds():
    """What decides how many are counted."""
    return [TABLE, IN_TABLE, SORTED, PAIRS]


def count(parts, vocab, most=None):
    """(codes in order, times, targets counted) of `parts`, arrays of previous * vocab + target; parts are taken whole.
    `most`: targets, or as many as memory and time allow."""
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
        order = np.argsort(codes, kind="stable")  # two runs in order: merged, not sorted
        codes, times = codes[order], times[order]
        begins = np.flatnonzero(np.diff(codes, prepend=-1))
        self._codes, self._times = codes[begins], np.add.reduceat(times, begins) if len(codes) else times

    def pairs(self):
        return self._codes, self._times
