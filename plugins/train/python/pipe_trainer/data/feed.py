"""Puts the rows of a step on the devices that compute them. A process reads only its own rows."""

import json
import os
import zlib

import jax
import numpy as np

from ..model import sharding

TRACE = "PIPE_TRACE_ROWS"  # names a file for the rows of each step, for tests


class Feed:
    """Sample g of the run is row g - first of the step that begins at `first`, on any number of hosts. `weigh`: of the
    objective."""

    def __init__(self, rows, mesh, batch, weigh):
        self._rows, self._micro, self._each, self._weigh = rows, batch.micro, batch.rows // batch.micro, weigh
        self._layout = sharding.of_batch(mesh, axis=1)
        shape = (batch.micro, self._each)
        spans = [index[1].indices(self._each) for index in
                 self._layout.addressable_devices_indices_map(shape).values()]
        self._low, self._high = min(span[0] for span in spans), max(span[1] for span in spans)
        self._trace = os.environ.get(TRACE)

    def load(self, first):
        """Returns tokens [M, R, T + 1], lengths [M, R] and the weights of the objective, [M, R, T + 1] (None: the rows
        have none), of the step whose first sample is `first`."""
        width = self._high - self._low
        if width == self._each:
            batch = self._rows.shuffled(first, self._micro * width)
            parts = batch.tokens, batch.lengths, self._weigh(batch)
        else:
            batches = [self._rows.shuffled(first + piece * self._each + self._low, width)
                       for piece in range(self._micro)]
            parts = jax.tree.map(lambda *some: np.concatenate(some),
                                 *((batch.tokens, batch.lengths, self._weigh(batch)) for batch in batches))
        if self._trace:
            self._note(first, width, parts[0])
        return jax.tree.map(lambda part: self._place(part.reshape(self._micro, width, *part.shape[1:])), parts)

    def _note(self, first, width, tokens):
        """Appends the samples of a step that this process read: their numbers, and checksums of their ids."""
        numbers = [first + piece * self._each + self._low + row for piece in range(self._micro) for row in range(width)]
        with open(self._trace, "a", encoding="utf-8") as out:
            out.write(json.dumps({"first": first, "samples": [[number, zlib.crc32(row.tobytes())]
                                                              for number, row in zip(numbers, tokens)]}) + "\n")

    def _place(self, local):
        shape = (self._micro, self._each, *local.shape[2:])

        def part(index):
            start, stop, _ = index[1].indices(self._each)
            return local[:, start - self._low:stop - self._low]
        return jax.make_array_from_callback(shape, self._layout, part)


def in_order(rows, mesh, size, limit, weigh):
    """Yields ((tokens, lengths, weights), batch) of the first `limit` rows, `size` at a time. Fills the last arrays up
    with rows that have no ids. Weights are None where the rows have none. `weigh`: of the objective."""
    layout = sharding.of_batch(mesh)
    for first in range(0, limit, size):
        batch = rows.in_order(first, min(size, limit - first))
        missing = size - len(batch.lengths)
        wide = (0, missing), (0, 0)
        parts = (np.pad(batch.tokens, wide), np.pad(batch.lengths, (0, missing)),
                 jax.tree.map(lambda part: np.pad(part, wide), weigh(batch)))
        yield jax.tree.map(lambda part: jax.make_array_from_callback(part.shape, layout, part.__getitem__),
                           parts), batch
