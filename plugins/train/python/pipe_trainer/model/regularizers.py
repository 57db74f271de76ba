"""Against learning by heart: dropout, and the moving average of the weights. `loss` has label smoothing and z-loss."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

PLACES = ("embedding", "attention", "wide", "mlp")
NUMBERS = {**{place: number for number, place in enumerate(PLACES)}, "cross": 0,  # no layer has an embedding
           "experts": 1 << 20}  # behind those of all layers
# Keys of different purposes, apart from those that fresh parameters are drawn with.
OF_MASKS = 0x6D61736B
OF_HIDING = 0x68696465


class Penalties(NamedTuple):
    """What the gradient is of, beside nats."""
    label_smoothing: float = 0.0
    z_loss: float = 0.0
    balance: float = 0.0   # of the experts
    router_z: float = 0.0


def no_dropout(x, place, layer=None):
    return x


def dropout(rate, keys):
    """A function of an activation [B, T, n], its place and its layer. `keys`: of the rows."""
    def drop(x, place, layer=-1):
        number = (layer + 1) * len(PLACES) + NUMBERS[place]

        def bits(key):
            return jax.random.bits(jax.random.fold_in(key, number), x.shape[1:], jnp.uint32)
        kept = jax.vmap(bits)(keys) >= jnp.uint32(rate * 2**32)
        return jnp.where(kept, x.astype(jnp.float32) / (1 - rate), 0).astype(x.dtype)
    return drop


def row_keys(seed, step, first, rows, purpose=OF_MASKS):
    """Returns a key for each of the rows `first` to `first + rows` of a step: micro-batches, devices and interruptions
    change no mask."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), purpose), step)
    return jax.vmap(partial(jax.random.fold_in, key))(first + jnp.arange(rows))


def in_training(config, seed, step, first, rows):
    """Arguments of step.summed_loss for rows of a step."""
    drop = dropout(config.dropout, row_keys(seed, step, first, rows)) if config.dropout else no_dropout
    return {"drop": drop,
            "penalties": Penalties(config.label_smoothing, config.z_loss, config.balance, config.router_z)}


def average(decay, step, before, params):
    """The moving average after a step. Early on it forgets sooner: fresh weights have no part in it for long."""
    share = 1 - jnp.minimum(decay, (1.0 + step) / (10.0 + step))
    return jax.tree.map(lambda mean, new: mean + share * (new - mean), before, params)


def evaluated(state):
    """The parameters that are scored, sampled from and exported."""
    return state.get("average", state["params"])
