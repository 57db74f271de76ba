"""The decoder: RMSNorm, rotary positions, SwiGLU, grouped heads, documents kept apart by attention.

Parameters are a dict of float32 arrays, those of the blocks stacked over layers. `forward` computes in the type it
is told.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import attention, lm1b
from .norms import rms_norm
from .primitives import lookup, project, swiglu
from .regularizers import no_dropout
from .sharding import constrain

MASKED = -1e30


def init(config, key):
    """Fresh parameters, the same for a key on every mesh."""
    if config.family == "lm1b":
        return lm1b.init(config, key)
    d, n, heads, kv, h, ff = (config.d, config.layers, config.heads, config.kv_heads, config.head_dim, config.ff)
    keys = iter(jax.random.split(key, 9))
    out_std = config.init_std / (2 * n) ** 0.5  # so that the sum over layers keeps its size

    def normal(shape, std=config.init_std):
        return std * jax.random.normal(next(keys), shape, jnp.float32)

    params = {
        "embed": normal((config.padded_vocab, d)),
        "blocks": {
            "attn_norm": jnp.ones((n, d)),
            "wq": normal((n, d, heads, h)),
            "wk": normal((n, d, kv, h)),
            "wv": normal((n, d, kv, h)),
            "wo": normal((n, heads, h, d), out_std),
            "mlp_norm": jnp.ones((n, d)),
            "w_gate": normal((n, d, ff)),
            "w_up": normal((n, d, ff)),
            "w_down": normal((n, ff, d), out_std),
        },
        "final_norm": jnp.ones((d,)),
    }
    if not config.tied:
        params["head"] = normal((d, config.padded_vocab))
    return params


def documents(config, x):
    """(segment, position) of each id: a document begins at eos and counts from it."""
    begins = x == config.eos
    index = jnp.arange(x.shape[-1])
    start = lax.cummax(jnp.where(begins, index, 0), axis=x.ndim - 1)
    return jnp.cumsum(begins, axis=-1, dtype=jnp.int32), (index - start).astype(jnp.int32)


def forward(params, config, x, attend=attention.reference, compute=jnp.float32, drop=no_dropout):
    """[B, T] ids to [B, T, d] hidden states after the last norm. `attend`: a form of `attention`; `drop`: of
    `regularizers`."""
    segments, positions = documents(config, x)
    hidden = lookup(params["embed"], x, compute)
    if config.family == "lm1b":
        hidden = hidden + lm1b.sinusoids(positions, config.d).astype(compute)
        block = lm1b.block(config, attend, segments)
    else:
        block = llama_block(config, attend, segments, rope_angles(config, positions))
    hidden = constrain(drop(hidden, "embedding"), "hidden")
    hidden = through_layers(block, hidden, params["blocks"], config, compute, drop)
    last = for_gradients({name: leaf for name, leaf in params.items() if name.startswith("final")}, config, compute)
    if config.family == "lm1b":
        return lm1b.layer_norm(hidden, last["final_norm"], last["final_norm_bias"], config.norm_eps)
    return rms_norm(hidden, last["final_norm"], config.norm_eps)


def llama_block(config, attend, segments, angles):
    """hidden, layer, drop to hidden."""
    def one(hidden, layer, drop):
        normed = rms_norm(hidden, layer["attn_norm"], config.norm_eps)
        q = rotate(project(normed, layer["wq"], 1), angles)
        k = rotate(project(normed, layer["wk"], 1), angles)
        v = project(normed, layer["wv"], 1)
        mixed = project(attend(q, k, v, segments), layer["wo"], 2)
        hidden = constrain(hidden + drop(mixed, "attention"), "hidden")
        normed = rms_norm(hidden, layer["mlp_norm"], config.norm_eps)
        gated = swiglu(project(normed, layer["w_gate"], 1), project(normed, layer["w_up"], 1))
        return constrain(hidden + drop(project(gated, layer["w_down"], 1), "mlp"), "hidden")
    return one


def for_gradients(tree, config, compute):
    """Parameters in the type in which their gradients are summed, over positions and over devices. What is float32
    here becomes `compute` inside the operation that uses it."""
    if config.gradients == "float32":
        return tree
    return jax.tree.map(lambda leaf: leaf.astype(compute), tree)


def through_layers(block, hidden, blocks, config, compute, drop):
    """A scan, so that programs do not grow with depth; a layer's parameters become `compute` when it is reached."""
    def one(hidden, layer, number):
        return block(hidden, for_gradients(layer, config, compute), partial(drop, layer=number))

    if config.remat == "full":
        one = jax.checkpoint(one)
    elif config.remat == "dots":
        one = jax.checkpoint(one, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    layers = blocks, jnp.arange(config.layers)
    return lax.scan(lambda carry, layer: (one(carry, *layer), None), hidden, layers, unroll=config.unroll)[0]


def head_matrix(params):
    """[d, Vp]."""
    return params["head"] if "head" in params else params["embed"].T


def logits(params, config, hidden):
    """[..., d] to float32 [..., Vp]; ids that fill the vocabulary up are impossible."""
    return masked_logits(config, hidden, head_matrix(params).astype(hidden.dtype))


def masked_logits(config, hidden, head):
    scores = jnp.matmul(hidden, head, preferred_element_type=jnp.float32)
    if config.padded_vocab == config.vocab:
        return scores
    return jnp.where(jnp.arange(config.padded_vocab) < config.vocab, scores, MASKED)


def rope_angles(config, positions):
    """(cos, sin), each float32 [B, T, 1, head_dim / 2]. From tables: XLA would compute them again in every use."""
    half = config.head_dim // 2
    frequencies = config.rope_theta ** (-np.arange(half) / half)
    angles = np.arange(max(config.seq_len, 2))[:, None] * frequencies
    return tuple(jnp.asarray(part(angles), jnp.float32)[positions][..., None, :] for part in (np.cos, np.sin))


def rotate(x, angles):
    """Rotary positions in the half-split convention: the first half of a head pairs with its second."""
    cos, sin = angles
    left, right = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1).astype(x.dtype)


def count(params):
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def flops_per_token(config, params):
    """(causal, full): of a training step, recomputation left out; causal counts the half of the scores that exist."""
    matmul = count(params["blocks"]) + config.d * config.padded_vocab
    scores = 12 * config.layers * config.heads * config.head_dim * config.seq_len
    return 6 * matmul + scores // 2, 6 * matmul + scores
