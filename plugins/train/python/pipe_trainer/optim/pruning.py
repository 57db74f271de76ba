"""Gradual pruning: weights of the least magnitude become 0 during the training, and stay 0: ../exports.md.

A weight of such a matrix that is 0 never changes again. So the zeros are the mask, and no checkpoint has another.
"""

import jax.numpy as jnp
from jax import lax

from ..model.matrices import MATRICES, mapped
from . import guard

PRUNED = ("wq", "wk", "wv", "wo", "w_gate", "w_up", "w_down", "experts_gate", "experts_up", "experts_down")


def share_before(keys, update, steps, first=False):
    """Returns the share of each matrix that is to be 0 before the update of this number, from 0, of a training of so
    many steps; 0: no pruning is due. `keys`: config.Pruning. `first`: of an attempt, which behind the last pruning
    brings a training with other steps or keys to the whole share; others have it, and do not change. The share grows
    fast at first, and slowly near its end: Zhu and Gupta 2017, equation 1."""
    begin, end = keys.span(steps)
    if first and update > end:
        return keys.share
    if not keys.share or not (update == end or begin <= update < end and (update - begin) % keys.every == 0):
        return 0.0
    left = 1 - (update - begin) / (end - begin)
    return keys.share * (1 - left ** 3)


def pruned(params, share):
    """Returns the parameters with zeros for `share` of each matrix of a layer, rounded down: those of least magnitude,
    and those that equal the last one of these."""
    def least(matrix):
        size = jnp.abs(matrix)
        count = jnp.floor(share * size.size).astype(jnp.int32)
        limit = jnp.sort(size.ravel())[jnp.maximum(count - 1, 0)]
        return jnp.where((size <= limit) & (count > 0), 0, matrix)

    def each(leaf, lead):  # one matrix at a time: several devices may have parts of it
        return lax.map(lambda part: each(part, lead - 1), leaf) if lead else least(leaf)

    def one(name, leaf):
        return each(leaf, leaf.ndim - sum(MATRICES[name])) if name in PRUNED else leaf
    return mapped(one, params)


def kept(before, after):
    """Returns the parameters `after` with each weight at 0 that is 0 `before`."""
    return mapped(lambda name, old, new: jnp.where(old == 0, 0, new) if name in PRUNED else new, before, after)


def of_state(config, state, share):
    """Returns the state with pruned parameters, and the average of the weights likewise. The guard compares no later
    step with those before: their losses were of other weights."""
    params = pruned(state["params"], share)
    average = {"average": kept(params, state["average"])} if "average" in state else {}
    return {**state, "params": params, **average, "guard": guard.fresh(config.guard)}
