"""RMSNorm and LayerNorm, computed in float32. Of an input in 16 bits they have gradients written out, which keep it as
it came and a number or two of each position; derived ones keep it again in float32. An input in float32 is no copy,
and its derived gradient stays.

A scale or bias comes in the type in which its gradient is wanted, and is used in the type of the input.
"""

import jax
import jax.numpy as jnp
from jax import lax


def rms_norm(x, scale, eps):
    if x.dtype == jnp.float32:
        return rms_norm_forward(x, scale, eps)[0]
    return narrow_rms_norm(x, scale, eps)


def rms_norm_forward(x, scale, eps):
    wide = x.astype(jnp.float32)
    square = jnp.mean(wide * wide, axis=-1, keepdims=True) + eps
    return (wide * lax.rsqrt(square)).astype(x.dtype) * scale.astype(x.dtype), (x, scale, square)


def rms_norm_backward(_, kept, d_y):
    x, scale, square = kept
    d_x, d_scale = through_division(x.astype(jnp.float32), scale, square, d_y)
    return d_x.astype(x.dtype), d_scale


narrow_rms_norm = jax.custom_vjp(lambda x, scale, eps: rms_norm_forward(x, scale, eps)[0], nondiff_argnums=(2,))
narrow_rms_norm.defvjp(rms_norm_forward, rms_norm_backward)


def layer_norm(x, scale, bias, eps):
    if x.dtype == jnp.float32:
        return layer_norm_forward(x, scale, bias, eps)[0]
    return narrow_layer_norm(x, scale, bias, eps)


def layer_norm_forward(x, scale, bias, eps):
    wide = x.astype(jnp.float32)
    mean = jnp.mean(wide, axis=-1, keepdims=True)
    centred = wide - mean
    square = jnp.mean(centred * centred, axis=-1, keepdims=True) + eps
    normed = (centred * lax.rsqrt(square)).astype(x.dtype)
    return normed * scale.astype(x.dtype) + bias.astype(x.dtype), (x, scale, bias, mean, square)


def layer_norm_backward(_, kept, d_y):
    x, scale, bias, mean, square = kept
    d_centred, d_scale = through_division(x.astype(jnp.float32) - mean, scale, square, d_y)
    d_x = d_centred - jnp.mean(d_centred, axis=-1, keepdims=True)
    return d_x.astype(x.dtype), d_scale, over_positions(d_y, bias)


narrow_layer_norm = jax.custom_vjp(lambda x, scale, bias, eps: layer_norm_forward(x, scale, bias, eps)[0],
                                   nondiff_argnums=(3,))
narrow_layer_norm.defvjp(layer_norm_forward, layer_norm_backward)


def through_division(wide, scale, square, d_y):
    """Gradients of `wide` and of `scale`, of wide / sqrt(square) * scale; `square` is the mean of wide squared."""
    inverse = lax.rsqrt(square)
    normed = wide * inverse
    d_scale = over_positions(d_y.astype(jnp.float32) * normed, scale)
    d_normed = (d_y * scale.astype(d_y.dtype)).astype(jnp.float32)
    return inverse * (d_normed - normed * jnp.mean(d_normed * normed, axis=-1, keepdims=True)), d_scale


def over_positions(d_y, vector):
    """The gradient of a vector that is the same for every position."""
    return jnp.sum(d_y, axis=tuple(range(d_y.ndim - 1)), dtype=jnp.float32).astype(vector.dtype)
