"""Muon (Jordan 2024): the momentum of a matrix, made orthogonal. Embeddings, head, norms and biases have Adam's
direction.

optax.contrib has a Muon whose momentum is corrected for its first steps; the published one, here, corrects nothing.
"""

import math

import jax
import jax.numpy as jnp
import optax

from ..model.matrices import hidden, inputs, joined, mapped, outputs, picked

ROUNDS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315  # of Newton and Schulz's iteration: steepest at 0, and near 1 from there on
SMALLEST = 1e-7                         # is added to a norm
SIZE = 0.2                              # root mean square of a direction: that of AdamW's (Liu et al. 2025)


def scale(momentum, b1, b2, eps):
    adam = optax.scale_by_adam(b1=b1, b2=b2, eps=eps)

    def others(tree):
        return picked(tree, lambda name: not hidden(name))

    def init(params):
        return {"adam": adam.init(others(params)), "momentum": jax.tree.map(jnp.zeros_like, picked(params, hidden))}

    def update(grads, state, params=None):
        directions, moments = adam.update(others(grads), state["adam"])
        grads = picked(grads, hidden)
        mean = jax.tree.map(lambda before, grad: momentum * before + (1.0 - momentum) * grad, state["momentum"], grads)
        ahead = jax.tree.map(lambda leaf, grad: momentum * leaf + (1.0 - momentum) * grad, mean, grads)
        return joined(directions, mapped(sized, ahead)), {"adam": moments, "momentum": mean}

    return optax.GradientTransformation(init, update)


def sized(name, leaf):
    """Each matrix of a leaf, orthogonal, with entries of root mean square SIZE."""
    rows, columns = (math.prod(leaf.shape[axis] for axis in axes(name, leaf.ndim)) for axes in (inputs, outputs))
    matrices = leaf.reshape(-1, rows, columns)
    return (SIZE * max(rows, columns) ** 0.5 * orthogonal(matrices)).reshape(leaf.shape)


def orthogonal(x):
    """[..., r, c] matrices with their singular values brought near 1."""
    a, b, c = COEFFICIENTS
    tall = x.shape[-2] > x.shape[-1]
    x = jnp.swapaxes(x, -1, -2) if tall else x
    x = x / (jnp.linalg.norm(x, axis=(-2, -1), keepdims=True) + SMALLEST)
    for _ in range(ROUNDS):
        square = x @ jnp.swapaxes(x, -1, -2)
        x = a * x + (b * square + c * square @ square) @ x
    return jnp.swapaxes(x, -1, -2) if tall else x
