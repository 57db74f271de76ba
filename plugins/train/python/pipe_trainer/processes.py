"""What the processes of a run tell each other. All of them call these functions together."""

import json

import jax
import numpy as np
from jax.experimental import multihost_utils

BYTES = 4096  # of JSON, filled up with spaces


def meet(where):
    """Makes the processes wait for each other here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(where)


def agreed(value):
    """Returns the value of the first process, on each process; anything of JSON. The others must not read files that
    the first one changes: they would see another state."""
    if jax.process_count() == 1:
        return value
    return parsed(multihost_utils.broadcast_one_to_all(written(value)))


def of_all(value):
    """Returns the values of all processes, in their order."""
    if jax.process_count() == 1:
        return [value]
    return [parsed(text) for text in multihost_utils.process_allgather(written(value))]


def written(value):
    return np.frombuffer(json.dumps(value).encode().ljust(BYTES), np.uint8)


def parsed(text):
    return json.loads(bytes(text))
