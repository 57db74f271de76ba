"""Gradual pruning: weights of the least magnitude become 0 during the training, and stay 0: ../exports.md.

A weight of such a matrix that is 0 never changes again. So the zeros are the mask, and no checkpoint has another.
"""

import math

import jax.numpy as jnp
from jax import lax

from ..config import amount
from ..model.matrices import MATRICES, mapped

PRUNED = ("wq", "wk", "wv", "wo", "w_gate", "w_up", "w_down", "experts_gate", "experts_up", "experts_down")


def share_before(keys, update, steps):
    """Returns the share of each matrix that is to be 0 before the update of this number, from 0, of a training of so
    many steps; None: no pruning is due. `keys`: config.Pruning. The share grows fast at first, and slowly near its
    end: Zhu and Gupta 2017, equation 1."""
    begin, end = (math.ceil(amount(one, steps)) for one in (keys.begin, keys.end))
    if not keys.share or not (update == end or begin <= update < end and (update - begin) % keys.every == 0):
        return None
    left = 1 - (update - begin) / (end - begin)
    return keys.share * (1 - left ** 3)


def pruned(params, share):
    """Returns the parameters with zeros for `share` of each matrix of a layer, rounded down: those of least magnitude,
    and those that equal the last one of these."""
    def one(name, leaf):
        if name not in PRUNED:
            return leaf
        lead = leaf.ndim - sum(MATRICES[name])
        stack = leaf.reshape(math.prod(leaf.shape[:lead]), -1)
        count = jnp.floor(share * stack.shape[1]).astype(jnp.int32)

        def least(matrix):
            size = jnp.abs(matrix)
            limit = jnp.sort(size)[jnp.maximum(count - 1, 0)]
            return jnp.where((size <= limit) & (count > 0), 0, matrix)
        return lax.map(least, stack).reshape(leaf.shape)
    return mapped(one, params)


def kept(before, after):
    """Returns the parameters `after` with each weight at 0 that is 0 `before`."""
    return mapped(lambda name, old, new: jnp.where(old == 0, 0, new) if name in PRUNED else new, before, after)


def of_state(state, share):
    """Returns the state with pruned parameters, and the average of the weights likewise."""
    params = pruned(state["params"], share)
    average = {"average": kept(params, state["average"])} if "average" in state else {}
    return {**state, "params": params, **average}
