"""The order of samples (plugins/train/reader/ORDER.md) in numpy. All numbers have 64 bits and wrap."""

from functools import lru_cache

import numpy as np

BLOCK = 1024   # rows that stay together
WINDOW = 16    # permuted blocks whose rows are mixed
ROUNDS = 6
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
START = np.uint64(0x706970656F726472)  # "pipeordr"


def mix(values):
    """The finisher of SplitMix64, on an array."""
    values = values ^ (values >> np.uint64(30))
    values = values * np.uint64(0xBF58476D1CE4E5B9)
    values = values ^ (values >> np.uint64(27))
    values = values * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def key(seed, epoch, purpose):
    """Returns the key of the permutation of blocks (purpose 0) or of window w (purpose w + 1). Takes numbers or
    arrays."""
    value = START
    with np.errstate(over="ignore"):
        for word in (seed, epoch, purpose):
            value = mix(np.asarray((value ^ np.asarray(word, np.uint64)) + GOLDEN, np.uint64))
    return value


def half_bits(size):
    """Returns the bits of each half, so that both halves together can hold 0 .. size - 1."""
    return max(1, (max(int(size) - 1, 0).bit_length() + 1) // 2)


def _round(keys, number, half, mask):
    return mix(half + keys + GOLDEN * np.uint64(number + 1)) & mask


def _pass(values, keys, half, forward):
    bits, mask = half, (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> bits, values & mask
    for number in range(ROUNDS) if forward else reversed(range(ROUNDS)):
        if forward:
            left, right = right, left ^ _round(keys, number, right, mask)
        else:
            left, right = right ^ _round(keys, number, left, mask), left
    return left << bits | right


def permute(values, sizes, keys, forward=True):
    """Maps values[i] in 0 .. sizes[i] - 1 by the permutation keys[i]; `forward` false: by its inverse."""
    values, sizes, keys = (np.asarray(part, np.uint64) for part in (values, sizes, keys))
    values, sizes, keys = np.broadcast_arrays(values, sizes, keys)
    shape, values, sizes, keys = values.shape, values.ravel(), sizes.ravel(), keys.ravel()
    distinct, which = np.unique(sizes, return_inverse=True)
    halves = np.array([half_bits(size) for size in distinct], np.uint64)[which.ravel()]
    out = values.copy()
    walking = np.flatnonzero(sizes > 1)
    with np.errstate(over="ignore"):
        while walking.size:
            out[walking] = _pass(out[walking], keys[walking], halves[walking], forward)
            walking = walking[out[walking] >= sizes[walking]]
    return out.reshape(shape)


@lru_cache(maxsize=8)
def _short_block(rows, seed, epoch):
    """Returns (position of the short block of an epoch, number of rows that it lacks)."""
    blocks = -(-rows // BLOCK)
    place = permute(np.uint64(blocks - 1), np.uint64(blocks), key(seed, epoch, 0), forward=False)
    return int(place), blocks * BLOCK - rows


def _windows(index, rows, seed, epoch):
    """Returns (numbers of the windows at positions `index` of one epoch, the index at which each begins, the number of
    blocks and of rows in each, whether each has the short block)."""
    blocks, window_rows = -(-rows // BLOCK), BLOCK * WINDOW
    short, lacking = _short_block(rows, seed, epoch)
    short_window = short // WINDOW
    end_of_short_window = min(rows, (short_window + 1) * window_rows - lacking)
    window = np.where(index < end_of_short_window, index // window_rows, (index + lacking) // window_rows)
    begin = window * window_rows - np.where(window > short_window, lacking, 0)
    held = np.minimum((window + 1) * WINDOW, blocks) - window * WINDOW
    has_short = window == short_window
    return window, begin, held, held * BLOCK - np.where(has_short, lacking, 0), has_short


def _epoch(index, rows, seed, epoch):
    """Returns the rows at positions `index` of one epoch."""
    short, lacking = _short_block(rows, seed, epoch)
    window, begin, _, size, has_short = _windows(index, rows, seed, epoch)
    first = window * WINDOW
    place = permute(index - begin, size, key(seed, epoch, window + 1)).astype(np.int64)
    behind = has_short & (place >= (short - first) * BLOCK + (BLOCK - lacking))
    place = place + np.where(behind, lacking, 0)
    block = permute(first + place // BLOCK, -(-rows // BLOCK), key(seed, epoch, 0)).astype(np.int64)
    return block * BLOCK + place % BLOCK


def window_of(sample, rows, seed=0):
    """Returns (the blocks of the window that has the sample, the first sample behind that window)."""
    epoch, index = divmod(sample, rows)
    window, begin, held, size, _ = (int(part) for part in _windows(np.int64(index), rows, seed, epoch))
    blocks = permute(window * WINDOW + np.arange(held), -(-rows // BLOCK), key(seed, epoch, 0)).astype(np.int64)
    return blocks.tolist(), sample - index + begin + size


def rows_of(first_sample, count, rows, seed=0):
    """Returns the rows of samples first_sample .. first_sample + count - 1, in a split of `rows` rows."""
    if rows < 1 or first_sample < 0 or count < 0 or first_sample + count >= 1 << 63:
        raise ValueError(f"samples {first_sample} .. + {count} of {rows} rows: out of range")
    out = np.empty(count, np.int64)
    done = 0
    while done < count:
        epoch, index = divmod(first_sample + done, rows)
        part = min(count - done, rows - index)
        out[done:done + part] = _epoch(np.arange(index, index + part, dtype=np.int64), rows, seed, epoch)
        done += part
    return out


def batches(rows, count):
    """Yields the first `count` rows of a split as batches, in their order."""
    for first in range(0, count, BLOCK):
        yield rows.in_order(first, min(BLOCK, count - first))
