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
    `first`: the number of the first layer, for dropout. Returns (hidden, the loads of experts as a stack or None)."""
    one = a_layer(block, config, compute, drop)
    if config.experts:
        return through_groups(one, hidden, blocks, config, first)
    layers = blocks, jnp.arange(first, first + config.layers)
    return lax.scan(lambda carry, layer: (one(carry, *layer), None), hidden, layers, unroll=config.unroll)


def through_groups(one, hidden, blocks, config, first):
    """As `through_layers`, over groups of `expert_every` layers, of which the last has experts: `blocks["experts"]` has
    those of all groups, and `one` also returns the load of such a layer."""
    every = config.expert_every
    others = {name: part for name, part in blocks.items() if name != "experts"}
    groups = jax.tree.map(lambda leaf: leaf.reshape(-1, every, *leaf.shape[1:]),
                          (others, jnp.arange(first, first + config.layers)))

    def group(hidden, given):
        layers, experts = given
        before, (last, number) = (jax.tree.map(lambda leaf, part=part: leaf[part], layers) for part in (slice(-1), -1))
        if every > 1:
            hidden = lax.scan(lambda carry, layer: (one(carry, *layer), None), hidden, before,
                              unroll=min(config.unroll, every - 1))[0]
        return one(hidden, {**last, "experts": experts}, number)
    return lax.scan(group, hidden, (groups, blocks["experts"]), unroll=max(config.unroll // every, 1))


def a_layer(block, config, compute, drop):
    """hidden, the parameters of a layer, its number to the result of `block`."""
    def one(hidden, layer, number):
        return block(hidden, for_gradients(layer, config, compute), partial(drop, layer=number))

    kept = {"dots": jax.checkpoint_policies.dots_with_no_batch_dims_saveable, "full": None}
    return jax.checkpoint(one, policy=kept[config.remat]) if config.remat in kept else one
