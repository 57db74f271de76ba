"""The decoder of the family `llama`: RMSNorm, rotary positions, SwiGLU, grouped heads."""

import jax
import jax.numpy as jnp
import numpy as np

from .layers import for_gradients
from .norms import rms_norm
from .primitives import lookup, project, swiglu
from .sharding import constrain


def init(config, key):
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


def embed(params, config, ids, positions, compute):
    return lookup(params["embed"], ids, compute)


def block(config, attend, segments, positions):
    """hidden, layer, drop to hidden."""
    angles = rope_angles(config, positions)

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


def final(config, hidden, last):
    """`last`: the parameters whose names begin with `final`."""
    return rms_norm(hidden, last["final_norm"], config.norm_eps)


def readout(params, config, hidden):
    """(hidden [..., d], matrix [d, Vp])."""
    return hidden, for_gradients(params["head"] if "head" in params else params["embed"].T, config, hidden.dtype)


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
