"""From a row with hidden ids to a pair: the sequence that an encoder reads, and the one that its decoder writes.

The row   </s> a b c d e </s> f g h     with b c, e and g hidden
is read   </s> a <0> d <1> </s> f <0> h
and       <0> b c <1> e </s> <0> g </s>  are the targets, behind the inputs  start <0> b c <1> e  start <0> g.

A span has the sentinel of its number in its document. Documents stay apart: segments say which slot belongs to which.
Without sentinels nothing marks a span on either side.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..model import model


class Pair(NamedTuple):
    """Both sides of R rows: T positions that are read, D slots that are written."""
    read: jax.Array       # [R, T]
    read_in: jax.Array    # [R, T]: the segments; -1 behind the last id
    given: jax.Array      # [R, D]: the decoder's inputs
    given_in: jax.Array   # [R, D]; -2 in unused slots
    targets: jax.Array    # [R, D]
    used: jax.Array       # bool [R, D]
    text: jax.Array       # bool [R, D]: the target is an id of the row


class Marks(NamedTuple):
    """Ids beside those of text. `sentinel` is the first; they go down from it. `count` 0: nothing marks a span."""
    start: int
    sentinel: int = 0
    count: int = 0


def pair(shape, marks, slots, ids, inside, hidden):
    """ids, inside, hidden [R, T]. A span stays visible that the slots, or the sentinels, do not suffice for, and so
    does each span behind the first that the slots do not suffice for."""
    segments = model.documents(shape, ids)[0]
    return jax.vmap(lambda *row: pair_one(shape, marks, slots, *row))(ids, segments, inside, hidden)


def pair_one(shape, marks, slots, ids, segments, inside, hidden):
    length = ids.shape[0]
    index = jnp.arange(length, dtype=jnp.int32)
    document = lax.cummax(jnp.where(jnp.diff(segments, prepend=-1) != 0, index, 0))  # where it begins

    def numbered(hidden):
        """Returns (where spans begin, the number of each span in its document)."""
        begins = hidden & ~jnp.concatenate([jnp.zeros(1, bool), hidden[:-1]])
        so_far = jnp.cumsum(begins, dtype=jnp.int32)
        return begins, so_far - 1 - (so_far - begins)[document]

    begins, number = numbered(hidden)
    if marks.count:
        hidden &= number < marks.count
        begins &= hidden
    cost = sum(part.astype(jnp.int32) for part in (hidden, begins & (marks.count > 0), begins & (number == 0)))
    filled = jnp.cumsum(cost, dtype=jnp.int32)
    ends = hidden & ~jnp.concatenate([hidden[1:], jnp.zeros(1, bool)])
    at_end = lax.cummin(jnp.where(ends, filled, 2 * length + slots), reverse=True)
    hidden &= at_end <= slots
    begins &= hidden

    shown = inside & ~hidden
    if marks.count:
        shown |= begins
    place = jnp.where(shown, jnp.cumsum(shown) - 1, length)
    symbols = jnp.where(begins, marks.sentinel - number, ids)
    read = jnp.full(length, shape.eos, ids.dtype).at[place].set(symbols, mode="drop")
    read_in = jnp.full(length, -1, jnp.int32).at[place].set(segments, mode="drop")

    def put(into, where, slot, value):
        return into.at[jnp.where(where, slot, slots)].set(value, mode="drop")

    given = jnp.full(slots, marks.start, ids.dtype)
    given_in = jnp.full(slots, -2, jnp.int32)
    begun = begins & (number == 0)
    given_in = put(given_in, begun, filled - 2 - (marks.count > 0), segments)
    if marks.count:
        given = put(given, begins, filled - 2, marks.sentinel - number)
        given_in = put(given_in, begins, filled - 2, segments)
    given = put(given, hidden, filled - 1, ids)
    given_in = put(given_in, hidden, filled - 1, segments)
    is_text = put(jnp.zeros(slots, bool), hidden, filled - 1, True)

    goes_on = jnp.concatenate([given_in[1:] == given_in[:-1], jnp.zeros(1, bool)]) & (given_in >= 0)
    targets = jnp.where(goes_on, jnp.roll(given, -1), shape.eos)
    return Pair(read, read_in, given, given_in, targets, given_in >= 0, goes_on & jnp.roll(is_text, -1))
