"""The seed's decoder: LayerNorm, ReLU, sinusoids; dropout where it has it, except of the shares of attention and of
the last bias. To compare with; not exported.

Embeddings have a variance of one and sinusoids are added to them, as there.
"""

import jax
import jax.numpy as jnp

from .layers import for_gradients
from .norms import layer_norm
from .primitives import add_bias, lookup, project
from .sharding import constrain


def init(config, key):
    d, n, heads, h, ff = config.d, config.layers, config.heads, config.head_dim, config.ff
    keys = iter(jax.random.split(key, 8))

    def xavier(shape, fan_in, fan_out):
        bound = (6 / (fan_in + fan_out)) ** 0.5
        return jax.random.uniform(next(keys), shape, jnp.float32, -bound, bound)

    return {
        "embed": jax.random.normal(next(keys), (config.padded_vocab, d)),
        "blocks": {
            "attn_norm": jnp.ones((n, d)), "attn_norm_bias": jnp.zeros((n, d)),
            "wq": xavier((n, d, heads, h), d, heads * h),
            "wk": xavier((n, d, heads, h), d, heads * h),
            "wv": xavier((n, d, heads, h), d, heads * h),
            "wo": xavier((n, heads, h, d), heads * h, d),
            "mlp_norm": jnp.ones((n, d)), "mlp_norm_bias": jnp.zeros((n, d)),
            "w_up": xavier((n, d, ff), d, ff), "up_bias": jnp.zeros((n, ff)),
            "w_down": xavier((n, ff, d), ff, d), "down_bias": jnp.zeros((n, d)),
        },
        "final_norm": jnp.ones((d,)), "final_norm_bias": jnp.zeros((d,)),
        "head": xavier((d, config.padded_vocab), d, config.padded_vocab),
    }


def embed(params, config, ids, positions, compute):
    return lookup(params["embed"], ids, compute) + sinusoids(positions, config.d).astype(compute)


def block(config, attend, segments, positions):
    """hidden, layer, drop to hidden."""
    def one(hidden, layer, drop):
        normed = layer_norm(hidden, layer["attn_norm"], layer["attn_norm_bias"], config.norm_eps)
        q, k, v = (project(normed, layer[name], 1) for name in ("wq", "wk", "wv"))
        mixed = project(attend(q, k, v, segments), layer["wo"], 2)
        hidden = constrain(hidden + drop(mixed, "attention"), "hidden")
        normed = layer_norm(hidden, layer["mlp_norm"], layer["mlp_norm_bias"], config.norm_eps)
        wide = drop(jax.nn.relu(add_bias(project(normed, layer["w_up"], 1), layer["up_bias"])), "wide")
        hidden = hidden + drop(project(wide, layer["w_down"], 1), "mlp")
        return constrain(add_bias(hidden, layer["down_bias"]), "hidden")
    return one


def final(config, hidden, last):
    """`last`: the parameters whose names begin with `final`."""
    return layer_norm(hidden, last["final_norm"], last["final_norm_bias"], config.norm_eps)


def readout(params, config, hidden):
    """(hidden [..., d], matrix [d, Vp])."""
    return hidden, for_gradients(params["head"], config, hidden.dtype)


def sinusoids(positions, d):
    """[B, T] to float32 [B, T, d]: sines, then cosines."""
    half = d // 2
    rates = jnp.exp(-jnp.log(10000.0) * jnp.arange(half, dtype=jnp.float32) / max(half - 1, 1))
    angles = positions[..., None].astype(jnp.float32) * rates
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
