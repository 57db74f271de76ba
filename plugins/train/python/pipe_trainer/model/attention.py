"""Attention of each position to its document, in the form that suits the device. A causal form sees the positions
before its own alone.

A form takes q [B, T, H, h], k and v [B, T, K, h] with K dividing H, and segments [B, T]; it gives [B, T, H, h].
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from ..exits import BadJob
from . import families, kernels
from .primitives import over_rows

LARGE = -1e30
WHOLE = 512  # queries whose scores `with_bias` has at once
TURN = 256   # of more queries, at most
EIGHT = 8


def reference(q, k, v, segments, causal=True):
    """What every other form is held against: scores as a matrix, softmax in float32."""
    batch, length, heads, width = q.shape
    groups = k.shape[2]
    q = q.reshape(batch, length, groups, heads // groups, width)
    scores = jnp.einsum("btgnh,bsgh->bgnts", q, k, preferred_element_type=jnp.float32) * width ** -0.5
    scores = jnp.where(allowed(segments, causal)[:, None, None], scores, LARGE)
    mixed = jnp.einsum("bgnts,bsgh->btgnh", nn.softmax(scores, axis=-1).astype(v.dtype), v)
    return mixed.reshape(batch, length, heads, width)


def plain(causal):
    """The reference in one direction, or in both."""
    return reference if causal else partial(reference, causal=False)


def with_bias(q, k, v, segments, of_keys, bias=None, causal=False):
    """q [B, T, H, h], k and v [B, S, H, h]. A query sees the keys of its segment: segments [B, T], of_keys [B, S].
    bias(distances) gives float32 [H, n] for int32 [n], key less query; None: none. Scores are not divided. Softmax in
    float32. More than WHOLE queries take turns, and keep no scores: memory grows with T + S, not with T * S."""
    length, keys, heads, size = q.shape[1], k.shape[1], q.shape[2], at_once(q.shape[1])
    turns = -(-length // size)
    by_distance = bias and bias(np.arange(1 - turns * size, keys + 1, dtype=np.int32))

    def turn(number, q, segments, k, v):
        first, k, v = number * size, k.astype(q.dtype), v.astype(q.dtype)
        scores = jnp.einsum("bthd,bshd->bhts", q, k, preferred_element_type=jnp.float32)
        if bias is not None:
            scores = scores + shifted(lax.dynamic_slice(by_distance, (0, (turns - 1) * size - first),
                                                        (heads, size + keys)), size)
        seen = segments[:, :, None] == of_keys[:, None, :]
        if causal:
            seen &= (first + jnp.arange(size))[:, None] >= jnp.arange(keys)
        scores = jnp.where(seen[:, None], scores, LARGE)
        return jnp.einsum("bhts,bshd->bthd", nn.softmax(scores, axis=-1).astype(v.dtype), v)

    if turns == 1:
        return turn(0, q, segments, k, v)
    q, segments = (jnp.pad(part, ((0, 0), (0, turns * size - length)) + ((0, 0),) * (part.ndim - 2))
                   for part in (q, segments))
    parts = tuple(part.reshape(len(part), turns, size, *part.shape[2:]).swapaxes(0, 1) for part in (q, segments))
    wide = k.astype(jnp.float32), v.astype(jnp.float32)  # as the sums of their gradients over turns
    mixed = lax.map(lambda part: jax.checkpoint(turn, prevent_cse=False)(*part, *wide), (jnp.arange(turns), *parts))
    return mixed.swapaxes(0, 1).reshape(len(q), turns * size, *v.shape[2:])[:, :length]


def at_once(queries):
    """How many of so many queries `with_bias` takes in a turn: turns are even, in steps of EIGHT for a TPU."""
    if queries <= WHOLE:
        return queries
    each = -(-queries // -(-queries // TURN))
    return -(-each // EIGHT) * EIGHT


def shifted(row, count):
    """row [H, count + n] to [H, count, n]: each next one is moved by one place, and the last begins with the first
    value. Neither this nor its gradient looks values up."""
    heads, width = row.shape
    rows = jnp.broadcast_to(row[:, None], (heads, count, width)).reshape(heads, -1)[:, :count * (width - 1)]
    return rows.reshape(heads, count, width - 1)[:, :, count - 1:]


def allowed(segments, causal=True):
    """[B, T, T]: which position sees which."""
    if not causal:
        return segments[:, :, None] == segments[:, None, :]
    index = jnp.arange(segments.shape[1])
    return (index[:, None] >= index[None, :]) & (segments[:, :, None] == segments[:, None, :])


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def dense(q, k, v, segments, causal=True):
    """The reference with half its passes over the scores: softmax divides after mixing, and its gradient takes
    its sums from the output. A CPU needs this form."""
    return dense_forward(q, k, v, segments, causal)[0]


def dense_forward(q, k, v, segments, causal):
    groups = k.shape[2]
    q = heads_first(q * q.shape[-1] ** -0.5, groups)
    k, v = heads_first(k, groups), heads_first(v, groups)
    bias = jnp.where(allowed(segments, causal), 0.0, LARGE)[:, None]
    bias = jnp.tile(bias, (1, 1, q.shape[2] // bias.shape[2], 1))
    scores = jnp.matmul(q, k.swapaxes(2, 3), preferred_element_type=jnp.float32) + bias
    exponentials = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    total = jnp.sum(exponentials, axis=-1, keepdims=True)
    mixed = jnp.matmul(exponentials.astype(v.dtype), v) / total.astype(v.dtype)
    return heads_last(mixed, segments.shape[1]), (q, k, v, exponentials, total, mixed)


def dense_backward(_, kept, d_mixed):
    q, k, v, exponentials, total, mixed = kept
    length = d_mixed.shape[1]
    d_mixed = heads_first(d_mixed, k.shape[1])
    share = d_mixed / total.astype(v.dtype)
    mean = jnp.sum(share * mixed, axis=-1, keepdims=True, dtype=jnp.float32)
    d_scores = exponentials * (jnp.matmul(share, v.swapaxes(2, 3), preferred_element_type=jnp.float32) - mean)
    d_scores = d_scores.astype(q.dtype)
    d_q = jnp.matmul(d_scores, k) * q.shape[-1] ** -0.5
    d_k = over_rows(d_scores, q, q.dtype)
    d_v = over_rows(exponentials.astype(v.dtype), share, v.dtype)
    return heads_last(d_q, length), heads_last(d_k, length), heads_last(d_v, length), None


dense.defvjp(dense_forward, dense_backward)


def heads_first(x, groups):
    """[B, T, G n, h] to [B, G, n T, h]: the heads of a group one after the other."""
    batch, length, heads, width = x.shape
    x = x.reshape(batch, length, groups, heads // groups, width).transpose(0, 2, 3, 1, 4)
    return x.reshape(batch, groups, -1, width)


def heads_last(x, length):
    batch, groups, rows, width = x.shape
    x = x.reshape(batch, groups, rows // length, length, width).transpose(0, 3, 1, 2, 4)
    return x.reshape(batch, length, -1, width)


def choose(config, platform, mesh, compute):
    """(name, form, why it is not the fast one or None). A form that was asked for by name is given or refused."""
    causal = families.of(config).causal
    if families.of(config).decoder:  # its own, `with_bias`: no fast form adds a bias of distances
        return "reference", plain(causal), None
    forms = {"reference": lambda: plain(causal), "dense": lambda: dense if causal else partial(dense, causal=False),
             "splash": lambda: kernels.splash(config, mesh),
             "cudnn": lambda: kernels.cudnn(compute, partial(allowed, causal=causal))}
    if config.attention != "auto":
        try:
            return config.attention, forms[config.attention](), None
        except kernels.NotHere as error:
            raise BadJob([f"config.model.attention: {config.attention}: {error}"]) from None
    fast = {"cpu": "dense", "tpu": "splash", "gpu": "cudnn"}.get(platform, "reference")
    try:
        return fast, forms[fast](), None
    except kernels.NotHere as error:
        return "reference", plain(causal), f"attention is slower than it could be: no {fast}: {error}"
