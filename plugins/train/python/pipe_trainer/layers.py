"""The layers of a model, one after the other, as a scan. Shared by all families."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .lora import is_adapted


def for_gradients(tree, config, compute):
    """Parameters in the type in which their gradients are summed, over positions and over devices. What is float32
    here becomes `compute` inside the operation that uses it."""
    if config.gradients == "float32":
        return tree
    return jax.tree.map(lambda leaf: leaf.astype(compute), tree, is_leaf=is_adapted)


def through_layers(block, hidden, blocks, config, compute, drop, first=0):
    """A scan, so that programs do not grow with depth; a layer's parameters become `compute` when it is reached.
    `first`: the number of the first layer, for dropout."""
    def one(hidden, layer, number):
        return block(hidden, for_gradients(layer, config, compute), partial(drop, layer=number))

    if config.remat == "full":
        one = jax.checkpoint(one)
    elif config.remat == "dots":
        one = jax.checkpoint(one, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    layers = blocks, jnp.arange(first, first + config.layers)
    return lax.scan(lambda carry, layer: (one(carry, *layer), None), hidden, layers, unroll=config.unroll)[0]
