"""Low-rank adapters (Hu et al. 2021): a matrix W that is a target stays as it is, a training learns A and B, and the
model has W + alpha / rank * A B in its place. plugins/train/python/fine_tuning.md.

`base` is a tree of parameters of a model. `adapters` is a tree with the same dicts, and an A and a B at the place of
each target. A leaf that is learned as a whole has there what is added to it, under its own name.
"""

from dataclasses import dataclass
from functools import partial
from itertools import count
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import matrices

OF_ADAPTERS = 0x6C6F7261  # a purpose of keys, apart from those of `regularizers`


@partial(jax.tree_util.register_dataclass, data_fields=("base", "a", "b"), meta_fields=("scale", "merges"))
@dataclass(frozen=True)
class Adapted:
    """A matrix of all layers with its adapter: W [..., in, out], A [..., in, rank], B [..., rank, out]. `merges`: W is
    changed before it is used, as an export has it; else x A B is added to x W, which costs less memory and no gradient
    of W."""
    base: jax.Array
    a: jax.Array
    b: jax.Array
    scale: float
    merges: bool

    def merged(self):
        lead = self.a.ndim + self.b.ndim - 2 - self.base.ndim  # axes that count matrices
        rank, on_host = self.a.shape[-1], isinstance(self.a, np.ndarray)
        # Else a TPU multiplies in bfloat16.
        product = np.matmul if on_host else partial(jnp.matmul, precision=lax.Precision.HIGHEST)
        a = self.a.reshape(*self.a.shape[:lead], -1, rank)
        b = self.b.reshape(*self.b.shape[:lead], rank, prod(self.b.shape[lead + 1:]))
        return self.base + (self.scale * product(a, b)).reshape(self.base.shape)

    def astype(self, kind):
        if self.merges:
            return self.merged().astype(kind)
        return Adapted(*(part.astype(kind) for part in (self.base, self.a, self.b)), self.scale, self.merges)


def is_adapted(leaf):
    return isinstance(leaf, Adapted)


def fresh(config, base, key, whole=()):
    """Returns adapters that change nothing: A is random, B zero. `config`: config.Lora; `base` may be abstract.
    `whole`: names of leaves that are learned as a whole, or of dicts of such."""
    key, numbers = jax.random.fold_in(key, OF_ADAPTERS), count()

    def one(name, leaf):
        come, go = matrices.inputs(name, leaf.ndim), matrices.outputs(name, leaf.ndim)
        lead = leaf.shape[:come[0]]
        width = tuple(leaf.shape[axis] for axis in come)
        a = jax.random.normal(jax.random.fold_in(key, next(numbers)), (*lead, *width, config.rank), jnp.float32)
        b = jnp.zeros((*lead, config.rank, *(leaf.shape[axis] for axis in go)), jnp.float32)
        return {name + matrices.A: prod(width) ** -0.5 * a, name + matrices.B: b}

    def of(tree):
        found = {}
        for name, part in tree.items():
            if name in whole:
                found[name] = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.float32), part)
            elif isinstance(part, dict):
                found |= {name: inner} if (inner := of(part)) else {}
            elif name in config.targets:
                found |= one(name, part)
        return found
    return of(base)


def attached(config, base, adapters, merges=False):
    """Returns the parameters of the model, with an Adapted at the place of each target."""
    def one(name, part):
        if isinstance(part, dict):
            return attached(config, part, adapters.get(name, {}), merges)
        if name + matrices.A not in adapters:
            return part + adapters[name] if name in adapters else part
        return Adapted(part, adapters[name + matrices.A], adapters[name + matrices.B], config.alpha / config.rank,
                       merges)
    return {name: one(name, part) for name, part in base.items()}


def merged(params):
    """Returns the parameters without adapters, as a model of its own."""
    return jax.tree.map(lambda leaf: leaf.merged() if is_adapted(leaf) else leaf, params, is_leaf=is_adapted)
