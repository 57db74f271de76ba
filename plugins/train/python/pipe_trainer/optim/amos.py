"""Amos (Tian and Parikh 2022): Adam's direction with a decay of weights, and of the learning rate, that lead each
parameter to an expected scale."""

import math

import jax
import jax.numpy as jnp
from jax import lax
import optax

from ..model.matrices import TABLES, averaged, inputs, mapped, without

RATE_DECAY = DECAY_DECAY = 0.25  # the paper's d and c: how fast the rate and the decay of weights fall
SMALLEST = 2.0 ** -125           # of a mean squared gradient


def expected(name, shape, family):
    """The scale that entries of a leaf have in the end: with it, a product of inputs of scale 1 has scale 1."""
    if name in TABLES:  # added to sinusoids of scale 1, or normed at once
        return 1.0 if family == "lm1b" else (2 / shape[-1]) ** 0.5
    come = inputs(name, len(shape))
    if come:
        halved = name in ("w_down", "experts_down")  # their inputs are, by what is before them
        return ((2 if halved else 1) / math.prod(shape[axis] for axis in come)) ** 0.5
    return 0.5 if name.endswith("bias") else 1.0


def scale(b2, family):
    def init(params):
        def zeros(name, leaf):
            return jnp.zeros(without(averaged(name, leaf.ndim), leaf.shape))
        return {"count": jnp.int32(0), "squares": mapped(zeros, params), "progress": mapped(zeros, params)}

    def update(grads, state, params, *, rate, **_):
        count = state["count"] + 1
        unbiased = 1.0 - b2 ** count.astype(jnp.float32)
        square = mapped(lambda name, grad: jnp.mean(jnp.square(grad), axis=averaged(name, grad.ndim)), grads)
        squares = jax.tree.map(lambda before, now: b2 * before + (1.0 - b2) * now, state["squares"], square)

        def inverse(mean):
            return unbiased / jnp.maximum(mean, SMALLEST)

        def shrinking(progress, now, mean):  # for each unit of the learning rate
            return lax.rsqrt(1.0 + DECAY_DECAY * jnp.sqrt(rate) * progress) * rate * inverse(mean) * now

        def direction(name, grad, param, progress, now, mean):
            eta = expected(name, grad.shape, family)
            rated = 1.0 / (1.0 + RATE_DECAY * jnp.sqrt(rate * eta) * progress)
            decay, step = (jnp.expand_dims(factor, averaged(name, grad.ndim)) for factor in (
                rated * 0.5 * shrinking(progress, now, mean), rated * eta * jnp.sqrt(inverse(mean))))
            return decay * param + step * grad

        def advance(progress, now, mean):
            return progress + rate * shrinking(progress, now, mean) * (1.0 + progress)

        directions = mapped(direction, grads, params, state["progress"], square, squares)
        return directions, {"count": count, "squares": squares,
                            "progress": jax.tree.map(advance, state["progress"], square, squares)}

    return optax.GradientTransformationExtraArgs(init, update)
