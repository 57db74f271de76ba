"""Hides some ids of a row, which a model predicts from all others of their document.

A row has T + 1 ids, and its last is the first of the next row: the model reads the first T. The ids that begin and end
documents, ids of weight 0 and padding are never hidden. Of the n others `share` n are, one at least, chosen anew at
each step. Of the hidden ids a share `random` is replaced by any id, a share `keep` stays, and the others become
`mask_id`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..data.sentencepiece_model import BYTE, NORMAL, SPACE
from ..data.vocabulary import INSIDE
from ..model import model

NEVER = np.uint32(0xFFFFFFFF)


def most(share, length):
    """Returns the number of ids that are hidden in a full row."""
    return max(int(share * length + 0.5), 1)


def hide(shape, options, count, begins, tokens, lengths, weights, keys):
    """tokens [R, T + 1], lengths [R], weights [R, T + 1] or None, a key for each row. Returns the ids [R, T] that are
    read, their segments and positions, and [R, count] places, targets and weights."""
    ids, inside, free = free_of(shape, tokens, lengths, weights)
    first = jnp.ones_like(free) if begins is None else borders(shape, ids) | jnp.asarray(begins)[ids]
    read, places, scored = jax.vmap(lambda *row: hide_one(shape, options, count, begins is not None, *row))(
        ids, free, first, keys)
    segments, positions = model.documents(shape, ids)
    segments = jnp.where(inside, segments, -1)  # nothing sees the padding
    return (read, (segments, positions), places, jnp.take_along_axis(ids, places, axis=1),
            scored.astype(jnp.float32))


def free_of(shape, tokens, lengths, weights):
    """Returns (ids [R, T] of the rows, whether each is no padding, whether each may be hidden)."""
    ids = tokens[:, :-1]
    inside = jnp.arange(ids.shape[1]) < lengths[:, None]
    free = inside & ~borders(shape, ids)
    if weights is not None:
        free &= weights[:, :-1] == 1
    return ids, inside, free


def borders(shape, ids):
    """Returns which ids begin or end a document. Takes arrays of JAX and of numpy."""
    ends = ids == shape.eos
    return ends if shape.begin is None else ends | (ids == shape.begin)


def hide_one(shape, options, count, words, ids, free, first, key):
    """Returns (ids with hidden ones replaced, [count] places, whether each is hidden) of one row. `first`: whether an
    id begins a word."""
    length = ids.shape[0]
    index = jnp.arange(length, dtype=jnp.int32)
    there = jnp.sum(free, dtype=jnp.int32)
    wanted = jnp.minimum(jnp.maximum((options.share * there + 0.5).astype(jnp.int32), 1), there)
    # A unit is hidden as a whole: an id, or a word that the share of the row holds.
    unit = index
    if words:
        word = lax.cummax(jnp.where(first | ~free, index, 0))
        size = jnp.zeros(length, jnp.int32).at[word].add(1)[word]
        unit = jnp.where(size <= wanted, word, index)
    draw = jax.random.bits(jax.random.fold_in(key, 0), (length,), jnp.uint32) >> 1
    everywhere = jnp.argsort(jnp.where(free, draw[unit], NEVER), stable=True)
    order = everywhere[:count]
    hidden = jnp.arange(count) < wanted
    if words:  # the last word may be too long for the rest: then it stays
        after = everywhere[jnp.minimum(wanted, length - 1)]
        hidden &= (unit[order] != unit[after]) | (wanted == there)
    kind = jax.random.uniform(jax.random.fold_in(key, 1), (count,))
    other = jax.random.randint(jax.random.fold_in(key, 2), (count,), 0, shape.vocab, jnp.int32)
    own = ids[order]
    shown = jnp.where(kind < options.keep, own, jnp.where(kind < options.keep + options.random, other,
                                                          options.mask_id))
    return ids.at[order].set(jnp.where(hidden, shown, own), unique_indices=True), order, hidden


def row_keys_of(tokens, lengths):
    """A key for each row by its content: an evaluation hides the same ids each time."""
    mixed = jnp.arange(1, tokens.shape[1] + 1, dtype=jnp.uint32) * jnp.uint32(0x9E3779B1) | 1
    sums = jnp.sum(tokens.astype(jnp.uint32) * mixed, axis=1, dtype=jnp.uint32) + lengths.astype(jnp.uint32)
    return jax.vmap(lambda number: jax.random.fold_in(jax.random.key(0), number))(sums)


class Hideable:
    """Rows whose scored targets are the ids that may be hidden: for baselines."""

    def __init__(self, rows, shape):
        self._rows, self._shape = rows, shape

    def __getattr__(self, name):
        return getattr(self._rows, name)

    def in_order(self, first, n):
        batch = self._rows.in_order(first, n)
        index = np.arange(batch.tokens.shape[1])
        inside = (index < np.minimum(batch.lengths, index[-1])[:, None]) & (index > 0)
        inside &= ~borders(self._shape, batch.tokens)
        if batch.weights is not None:
            inside &= batch.weights == 1
        nothing = np.zeros_like(batch.bytes)  # nobody knows how much text these ids are
        return batch._replace(weights=inside.astype(np.uint8), bytes=nothing, chars=nothing)


def begins_of(pieces, vocab):
    """Returns which ids [vocab] begin a word. An id that is no text, such as a newline, is a word of its own.
    `pieces`: of vocabulary.pieces_of."""
    found = np.ones(vocab, bool)
    for number, (piece, _, kind) in enumerate(pieces[:vocab]):
        found[number] = piece.startswith(SPACE) if kind in (NORMAL, BYTE) else kind != INSIDE
    return found
