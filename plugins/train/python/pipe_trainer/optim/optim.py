"""Learning rates by step, and the optimisers: plugins/train/python/optimizers.md."""

import math

import optax

from ..config import amount
from ..model.matrices import mapped
from . import adafactor, amos, momentum, muon

UNDECAYED = ("norm", "bias")  # ends of the names of leaves


def learning_rate(optimizer, schedule, step, steps, warmup=None):
    """Returns the rate of the update numbered `step` from 0, in a run of `steps`. On the host, in double precision.
    `warmup`: in steps; None: as the schedule says."""
    warmup = amount(schedule.warmup, steps) if warmup is None else warmup
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


def decayed(params):
    """Which leaves lose weight: matrices."""
    return mapped(lambda name, leaf: not name.endswith(UNDECAYED), params)


def make(optimizer, family="llama"):
    """The direction of an update; the step multiplies it by the learning rate, and gives that as `rate`. `family`: of
    the model."""
    return optax.chain(*PARTS[optimizer.name](optimizer, family))


PARTS = {
    "adamw": lambda keys, family: (optax.scale_by_adam(b1=keys.b1, b2=keys.b2, eps=keys.eps), decay(keys)),
    "adafactor": lambda keys, family: (adafactor.scale(keys.b2_exponent, keys.threshold, keys.parameter_scale),
                                       *averaging(keys), decay(keys)),
    "amos": lambda keys, family: (amos.scale(keys.b2, family), *averaging(keys)),
    "muon": lambda keys, family: (muon.scale(keys.momentum, keys.b1, keys.b2, keys.eps), decay(keys)),
}


def decay(optimizer):
    return optax.add_decayed_weights(optimizer.weight_decay, mask=decayed)


def averaging(optimizer):
    return (momentum.of_updates(optimizer.momentum),) if optimizer.momentum else ()


def kind(optimizer):
    """What a checkpoint says about the arrays that the optimiser keeps."""
    averages = optimizer.momentum and optimizer.name in ("adafactor", "amos")
    return f"{optimizer.name} with momentum" if averages else optimizer.name
