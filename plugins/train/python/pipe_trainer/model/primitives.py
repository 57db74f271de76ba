"""Products, gates and the lookup with gradients written out: those that are derived make copies and passes that a CPU
feels, and sums in 16 bits.

A parameter comes in the type in which its gradient is wanted, and is used in the type of x.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .lora import is_adapted
from .norms import over_positions
from .sharding import constrain, is_on_cpu


def project(x, weight, contracted):
    """The last `contracted` axes of x with the first ones of weight."""
    if is_adapted(weight):
        if weight.merges:
            return project(x, weight.merged(), contracted)
        narrow = project(x, weight.a, contracted)
        return project(x, weight.base, contracted) + project(narrow, weight.scale * weight.b, 1)
    axes = x.ndim - contracted
    width = math.prod(x.shape[axes:])
    y = matmul(x.reshape(-1, width), weight.reshape(width, -1))
    return y.reshape(x.shape[:axes] + weight.shape[contracted:])


@jax.custom_vjp
def matmul(x, weight):
    """The product of two matrices."""
    return product(x, weight)


def product(x, weight):
    return x @ weight.astype(x.dtype)


def matmul_backward(kept, d_y):
    x, weight = kept
    return d_y @ weight.astype(x.dtype).T, over_rows(x, d_y, weight.dtype)


def over_rows(x, d_y, wanted):
    """The products x.mT @ d_y of matrices [..., rows, n] and [..., rows, m], in the type `wanted`. As derived, they
    would be transposed products of two copies."""
    if not is_on_cpu():
        return jnp.matmul(x.mT, d_y, preferred_element_type=wanted)
    # XLA folds a transposition into a product, and computes such a product at half the speed on a CPU. So the narrower
    # matrix is transposed by itself.
    if x.shape[-1] > d_y.shape[-1]:
        return lax.optimization_barrier(over_rows(d_y, x, wanted)).mT
    return jnp.matmul(lax.optimization_barrier(x.mT), d_y, preferred_element_type=wanted)


# Not `matmul`: `remat: dots` keeps results of products, and a function with a gradient of its own is none to it.
matmul.defvjp(lambda x, weight: (product(x, weight), (x, weight)), matmul_backward)


@jax.custom_vjp
def each_product(x, weight):
    """x [R, E, C, n] with the matrix of each E, [E, n, m]."""
    return product_of_each(x, weight)


def product_of_each(x, weight):
    return jnp.einsum("recn,enm->recm", x, weight.astype(x.dtype))


def each_product_backward(kept, d_y):
    x, weight = kept
    return (jnp.einsum("recm,enm->recn", d_y, weight.astype(x.dtype)),
            jnp.einsum("recn,recm->enm", x, d_y, preferred_element_type=weight.dtype))


each_product.defvjp(lambda x, weight: (product_of_each(x, weight), (x, weight)), each_product_backward)


@jax.custom_vjp
def add_bias(x, bias):
    return x + bias.astype(x.dtype)


add_bias.defvjp(lambda x, bias: (add_bias(x, bias), bias), lambda bias, d_y: (d_y, over_positions(d_y, bias)))


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def lookup(table, ids, compute):
    """Rows of the table in the type `compute`. The gradient is summed in float32: of an id that occurs thousands of
    times a sum in bfloat16 loses what is added last."""
    return constrain(table.astype(compute), "table")[ids]


def lookup_backward(_, kept, d_rows):
    table, ids = kept
    d_table = jnp.zeros(table.shape, jnp.float32).at[ids].add(d_rows.astype(jnp.float32))
    return constrain(d_table, "table").astype(table.dtype), None


lookup.defvjp(lambda table, ids, compute: (lookup(table, ids, compute), (table, ids)), lookup_backward)


def gelu(x, exact=False):
    return jax.nn.gelu(x, approximate=not exact)


@jax.custom_vjp
def swiglu(gate, up):
    return jax.nn.silu(gate) * up


def swiglu_backward(kept, d_y):
    gate, up = kept
    sigmoid = jax.nn.sigmoid(gate)
    return d_y * up * sigmoid * (1 + gate * (1 - sigmoid)), d_y * gate * sigmoid


swiglu.defvjp(lambda gate, up: (swiglu(gate, up), (gate, up)), swiglu_backward)
