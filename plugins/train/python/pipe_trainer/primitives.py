"""Products and gates with gradients written out: those that are derived make copies and passes that a CPU feels."""

import math

import jax


def project(x, weight, contracted):
    """The last `contracted` axes of x with the first ones of weight."""
    axes = x.ndim - contracted
    width = math.prod(x.shape[axes:])
    y = matmul(x.reshape(-1, width), weight.reshape(width, -1))
    return y.reshape(x.shape[:axes] + weight.shape[contracted:])


@jax.custom_vjp
def matmul(x, weight):
    """Of two matrices."""
    return x @ weight


def matmul_backward(kept, d_y):
    x, weight = kept
    return d_y @ weight.T, x.T @ d_y  # as derived, the second would be a transposed product of two copies


matmul.defvjp(lambda x, weight: (x @ weight, (x, weight)), matmul_backward)


@jax.custom_vjp
def swiglu(gate, up):
    return jax.nn.silu(gate) * up


def swiglu_backward(kept, d_y):
    gate, up = kept
    sigmoid = jax.nn.sigmoid(gate)
    return d_y * up * sigmoid * (1 + gate * (1 - sigmoid)), d_y * gate * sigmoid


swiglu.defvjp(lambda gate, up: (swiglu(gate, up), (gate, up)), swiglu_backward)
