"""Learning rates by step, and AdamW."""

import math

import jax
import optax

UNDECAYED = ("norm", "bias")  # ends of the names of leaves


def learning_rate(optimizer, schedule, step, steps):
    """Of the update numbered `step` from 0, in a run of `steps`. On the host, in double precision."""
    warmup = amount(schedule.warmup, steps)
    rising = min((step + 1) / warmup, 1.0) if warmup else 1.0
    return optimizer.lr * rising * falling(schedule, step, steps, warmup)


def falling(schedule, step, steps, warmup):
    if schedule.name == "const" or step < warmup:
        return 1.0
    if schedule.name == "rsqrt":
        return math.sqrt(max(warmup, 1) / max(step + 1, 1))
    if schedule.name == "wsd":
        length = amount(schedule.decay, steps)
    else:
        length = steps - warmup
    left = min(max((steps - step) / length, 0.0), 1.0) if length else 1.0
    if schedule.name == "cosine":
        left = 0.5 - 0.5 * math.cos(math.pi * left)
    return schedule.final + (1.0 - schedule.final) * left


def amount(steps_or_share, steps):
    return steps_or_share * steps if steps_or_share < 1 else steps_or_share


def decayed(params):
    """Which leaves lose weight: matrices."""
    def matrix(path, leaf):
        del leaf
        return not path[-1].key.endswith(UNDECAYED)
    return jax.tree_util.tree_map_with_path(matrix, params)


def make(optimizer):
    """The direction of an update; the step multiplies it by the learning rate."""
    return optax.chain(
        optax.scale_by_adam(b1=optimizer.b1, b2=optimizer.b2, eps=optimizer.eps),
        optax.add_decayed_weights(optimizer.weight_decay, mask=decayed),
    )
