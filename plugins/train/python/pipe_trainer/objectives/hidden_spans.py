"""Chooses the spans of a row, or the ends of its documents, that are hidden. Hidden ids are text: eos, ids of weight 0
and padding never are."""

import jax
import jax.numpy as jnp
from jax import lax

from .hiding import NEVER, most

FULL = 8  # slots of a decoder come in multiples of this


def counts_of(options, length):
    """Returns (the hidden ids, the spans) of a full row of text."""
    hidden = min(most(options.share, length), max(length - 1, 1))
    return hidden, max(int(hidden / options.span + 0.5), 1)


def slots_of(options, length):
    """Returns the slots of the decoder for a row: for the hidden ids, a sentinel for each span, and as many starts as
    spans, since a document with a hidden id has one."""
    hidden, spans = counts_of(options, length)
    return -(-(hidden + 2 * spans) // FULL) * FULL


def hide_spans(objective, free, key):
    """free [T]: ids that may be hidden. Returns hidden [T]. The free ids alternate: shown ones, a span, shown ones, …,
    a span. Lengths are random, with the given means, as t5.data.preprocessors.random_spans_noise_mask has them."""
    length = free.shape[0]
    most_spans = counts_of(objective, length)[1]
    there = jnp.sum(free, dtype=jnp.int32)
    wanted = jnp.maximum((objective.share * there + 0.5).astype(jnp.int32), 1)
    wanted = jnp.clip(wanted, 0, jnp.maximum(there - 1, 0))  # one id is always shown
    spans = jnp.maximum((wanted / objective.span + 0.5).astype(jnp.int32), 1)
    spans = jnp.minimum(jnp.minimum(spans, most_spans), jnp.minimum(wanted, there - wanted))
    of_hidden = random_lengths(wanted, spans, length, most_spans, jax.random.fold_in(key, 0))
    of_shown = random_lengths(there - wanted, spans, length, most_spans, jax.random.fold_in(key, 1))
    ends = jnp.cumsum(of_hidden) + jnp.cumsum(of_shown)
    real = jnp.arange(most_spans) < spans
    steps = jnp.zeros(length + 1, jnp.int32)
    steps = steps.at[jnp.where(real, ends - of_hidden, length)].add(1)
    steps = steps.at[jnp.where(real, ends, length)].add(-1)
    inside = jnp.cumsum(steps[:-1]) > 0  # by the number of a free id
    return free & inside[jnp.maximum(jnp.cumsum(free) - 1, 0)]


def random_lengths(total, parts, length, most_parts, key):
    """Returns int32 [most_parts]: `total` in `parts` random lengths of at least 1, then zeros. All compositions are
    equally likely."""
    index = jnp.arange(length, dtype=jnp.int32)
    cuttable = (index > 0) & (index < total)  # before these
    draw = jax.random.bits(key, (length,), jnp.uint32) >> 1
    order = jnp.argsort(jnp.where(cuttable, draw, NEVER), stable=True)
    rank = jnp.zeros(length, jnp.int32).at[order].set(index, unique_indices=True)
    part = jnp.cumsum(cuttable & (rank < parts - 1))
    return jnp.zeros(most_parts, jnp.int32).at[jnp.where(index < total, part, most_parts)].add(1, mode="drop")


def hide_ends(free, segments, weighted, key):
    """segments [T]: documents. Returns hidden [T]: each document from a random id on, where at least one id is shown
    and one hidden. `weighted`: hides every id of weight 1 but the first of the row, so one id is always shown."""
    length = free.shape[0]
    index = jnp.arange(length, dtype=jnp.int32)
    if weighted:
        return free & (index > 0)
    size = jnp.zeros(length + 1, jnp.int32).at[segments].add(free)[segments]
    before = jnp.cumsum(free) - free
    begin = lax.cummax(jnp.where(jnp.diff(segments, prepend=-2) != 0, index, 0))
    number = before - before[begin]  # of the id among those of its document
    drawn = jax.random.uniform(key, (length + 1,))[segments]
    shown = 1 + jnp.floor(drawn * jnp.maximum(size - 1, 0)).astype(jnp.int32)  # 1 to size - 1
    return free & (number >= shown)
