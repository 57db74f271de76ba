"""Adafactor (Shazeer and Stern 2018): the second moment of a matrix from the means of its rows and columns.

optax has it too, but factors the two longest axes of a leaf. Here a leaf holds the matrices of all layers, and those of
attention have their heads on an axis of their own; so each matrix would be factored, and clipped, with others.
"""

import jax.numpy as jnp
from jax import lax
import optax

from ..model.matrices import MATRICES, inputs, joined, mapped, outputs, own, picked, without

SMALLEST = 1e-30  # is added to each squared gradient
LEAST_SIZE = 1e-3  # of a parameter that scales its update


def scale(exponent, threshold, relative=False):
    """`exponent`: of the step, for the decay of the moments; `threshold`: greatest root mean square of a matrix or
    vector of the update; `relative`: that of the parameter multiplies its update."""
    def zeros(lacking):
        return lambda name, leaf: jnp.zeros(without(lacking(name, leaf.ndim), leaf.shape))

    def init(params):
        matrices = picked(params, MATRICES.__contains__)
        return {"count": jnp.int32(0), "rows": mapped(zeros(outputs), matrices),
                "columns": mapped(zeros(inputs), matrices),
                "whole": mapped(zeros(lambda name, axes: ()), picked(params, lambda name: name not in MATRICES))}

    def update(grads, state, params=None):
        count = state["count"] + 1
        b2 = 1.0 - count.astype(jnp.float32) ** -exponent

        def moment(lacking):
            def one(name, before, grad):
                square = jnp.square(grad) + SMALLEST
                return b2 * before + (1.0 - b2) * jnp.mean(square, axis=lacking(name, grad.ndim))
            return one

        matrices, vectors = (picked(grads, wanted) for wanted in (MATRICES.__contains__,
                                                                  lambda name: name not in MATRICES))
        rows = mapped(moment(outputs), state["rows"], matrices)
        columns = mapped(moment(inputs), state["columns"], matrices)
        whole = mapped(moment(lambda name, axes: ()), state["whole"], vectors)

        def of_matrix(name, grad, row, column):
            come, go = inputs(name, grad.ndim), outputs(name, grad.ndim)
            row = row / jnp.mean(row, axis=come, keepdims=True)
            return clipped(name, grad * lax.rsqrt(jnp.expand_dims(row, go)) * lax.rsqrt(jnp.expand_dims(column, come)))

        def clipped(name, step):
            size = jnp.sqrt(jnp.mean(jnp.square(step), axis=own(name, step.ndim), keepdims=True))
            return step / jnp.maximum(1.0, size / threshold)

        def scaled(name, step, param):
            size = jnp.sqrt(jnp.mean(jnp.square(param), axis=own(name, step.ndim), keepdims=True))
            return step * jnp.maximum(size, LEAST_SIZE)

        directions = joined(mapped(of_matrix, matrices, rows, columns),
                            mapped(lambda name, grad, square: clipped(name, grad * lax.rsqrt(square)), vectors, whole))
        if relative:
            directions = mapped(scaled, directions, params)
        return directions, {"count": count, "rows": rows, "columns": columns, "whole": whole}

    return optax.GradientTransformation(init, update)
