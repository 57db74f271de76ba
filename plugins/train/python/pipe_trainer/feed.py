"""Puts the rows of a step on the devices that compute them. A process reads only its own rows."""

import jax
import numpy as np

from . import sharding


class Feed:
    """Sample g of the run is row g - first of the step that begins at `first`, on any number of hosts."""

    def __init__(self, rows, mesh, batch):
        self._rows, self._micro, self._each = rows, batch.micro, batch.rows // batch.micro
        self._layout = sharding.of_batch(mesh, axis=1)
        shape = (batch.micro, self._each)
        spans = [index[1].indices(self._each) for index in
                 self._layout.addressable_devices_indices_map(shape).values()]
        self._low, self._high = min(span[0] for span in spans), max(span[1] for span in spans)

    def load(self, first):
        """Returns tokens [M, R, T + 1] and lengths [M, R] of the step whose first sample is `first`."""
        width = self._high - self._low
        if width == self._each:
            batch = self._rows.shuffled(first, self._micro * width)
            tokens, lengths = batch.tokens, batch.lengths
        else:
            parts = [self._rows.shuffled(first + piece * self._each + self._low, width)
                     for piece in range(self._micro)]
            tokens = np.concatenate([part.tokens for part in parts])
            lengths = np.concatenate([part.lengths for part in parts])
        return (self._place(tokens.reshape(self._micro, width, -1)), self._place(lengths.reshape(self._micro, width)))

    def _place(self, local):
        shape = (self._micro, self._each, *local.shape[2:])

        def part(index):
            start, stop, _ = index[1].indices(self._each)
            return local[:, start - self._low:stop - self._low]
        return jax.make_array_from_callback(shape, self._layout, part)


def in_order(rows, mesh, size, limit):
    """Yields (tokens, lengths, batch) of the first `limit` rows, `size` at a time. Fills the last arrays up with rows
    that have no targets."""
    layout = sharding.of_batch(mesh)
    for first in range(0, limit, size):
        batch = rows.in_order(first, min(size, limit - first))
        missing = size - len(batch.lengths)
        tokens = np.pad(batch.tokens, ((0, missing), (0, 0)))
        lengths = np.pad(batch.lengths, (0, missing), constant_values=1)
        yield (jax.make_array_from_callback(tokens.shape, layout, tokens.__getitem__),
               jax.make_array_from_callback(lengths.shape, layout, lengths.__getitem__), batch)
