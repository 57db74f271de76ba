"""The encoder and decoder of the family `t5`: RMSNorm, a bias for each distance in place of positions, GELU with a
gate. Source: T5 1.1 of t5x, as transformers has it (T5ForConditionalGeneration with feed_forward_proj gated-gelu). With
`gated` false it is the first T5 (relu).

Scores are not divided by the root of the width: the queries begin that much smaller. With `tied`, hidden states are
divided by the root of d before the embedding scores them, as in the first T5.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from . import experts
from .attention import with_bias
from .layers import for_gradients, through_layers
from .norms import rms_norm
from .primitives import gelu, lookup, project
from .regularizers import no_dropout
from .sharding import constrain

BUCKETS = 32      # of distances, for each head
FARTHEST = 128    # from this distance on all are one bucket


def init(config, key):
    d, n, heads, h, ff = config.d, config.layers, config.heads, config.head_dim, config.ff
    keys = iter(jax.random.split(key, 24))
    smaller = experts.SMALLER if config.experts else 1.0

    def normal(shape, std, smaller=smaller):
        return std * smaller * jax.random.normal(next(keys), shape, jnp.float32)

    def attention():
        return {"wq": normal((n, d, heads, h), (d * h) ** -0.5), "wk": normal((n, d, heads, h), d ** -0.5),
                "wv": normal((n, d, heads, h), d ** -0.5), "wo": normal((n, heads, h, d), (heads * h) ** -0.5)}

    def stack(**more):
        return {"attn_norm": jnp.ones((n, d)), **attention(), **more, "mlp_norm": jnp.ones((n, d)),
                **({"w_gate": normal((n, d, ff), d ** -0.5)} if config.gated else {}),
                "w_up": normal((n, d, ff), d ** -0.5),
                "w_down": normal((n, ff, d), ff ** -0.5)}

    params = {
        "embed": normal((config.padded_vocab, d), 1.0, smaller=1.0),
        "encoder": stack(), "decoder": stack(cross={"attn_norm": jnp.ones((n, d)), **attention()}),
        "distances": {"encoder_bias": normal((BUCKETS, heads), d ** -0.5),
                      "decoder_bias": normal((BUCKETS, heads), d ** -0.5)},
        "final_encoder_norm": jnp.ones((d,)), "final_norm": jnp.ones((d,)),
    }
    if not config.tied:
        params["head"] = normal((d, config.padded_vocab), d ** -0.5)
    if config.experts:
        for number, stack in enumerate(("encoder", "decoder")):
            params[stack]["experts"] = experts.init(config, jax.random.fold_in(key, number))
    return params


def forward(params, config, ids, segments, given, given_segments, compute=jnp.float32, drop=no_dropout,
            training=False):
    """ids [B, T] that are read, given [B, D] that the decoder has. Returns (the decoder's hidden states [B, D, d], the
    loads of experts or None)."""
    read, loads = encode(params, config, ids, segments, compute, drop, training)
    hidden, more = decode(params, config, read, segments, given, given_segments, compute, drop, training)
    return hidden, experts.summed(loads, more) if config.experts else None


def encode(params, config, ids, segments, compute, drop, training):
    """Returns (hidden states [B, T, d], loads)."""
    bias = partial(distance_bias, params["distances"]["encoder_bias"], both=True)

    def block(hidden, layer, drop):
        normed = rms_norm(hidden, layer["attn_norm"], config.norm_eps)
        hidden = hidden + drop(attended(layer, normed, normed, segments, segments, bias), "attention")
        return mlps(config, constrain(hidden, "hidden"), layer, drop, segments >= 0, training)

    hidden = constrain(drop(lookup(params["embed"], ids, compute), "embedding"), "hidden")
    hidden, loads = through_layers(block, hidden, params["encoder"], config, compute, drop)
    last = for_gradients(params["final_encoder_norm"], config, compute)
    return rms_norm(hidden, last, config.norm_eps), loads


def decode(params, config, read, segments, given, given_segments, compute, drop, training):
    """read [B, T, d]: from `encode`. Returns (hidden states [B, D, d], loads)."""
    bias = partial(distance_bias, params["distances"]["decoder_bias"], both=False)

    def block(hidden, layer, drop):
        normed = rms_norm(hidden, layer["attn_norm"], config.norm_eps)
        own = attended(layer, normed, normed, given_segments, given_segments, bias, causal=True)
        hidden = constrain(hidden + drop(own, "attention"), "hidden")
        cross = layer["cross"]
        normed = rms_norm(hidden, cross["attn_norm"], config.norm_eps)
        hidden = hidden + drop(attended(cross, normed, read, given_segments, segments), "cross")
        return mlps(config, constrain(hidden, "hidden"), layer, drop, given_segments >= 0, training)

    hidden = drop(lookup(params["embed"], given, compute), "embedding", layer=2 * config.layers)
    hidden, loads = through_layers(block, constrain(hidden, "hidden"), params["decoder"], config, compute, drop,
                                   first=config.layers)
    return rms_norm(hidden, for_gradients(params["final_norm"], config, compute), config.norm_eps), loads


def attended(layer, hidden, other, segments, of_other, bias=None, causal=False):
    """`other`: hidden states that are looked at."""
    q, k, v = (project(source, layer[name], 1) for source, name in ((hidden, "wq"), (other, "wk"), (other, "wv")))
    return project(with_bias(q, k, v, segments, of_other, bias, causal), layer["wo"], 2)


def mlps(config, hidden, layer, drop, there, training):
    """hidden, or (hidden, load) of a layer with experts. `there` bool [B, T]: no padding."""
    if "experts" not in layer:
        return mlp(config, hidden, layer, drop)
    hidden, load = experts.mixed(config, hidden, layer["experts"], drop, there, training,
                                 lambda gate, up: gelu(gate) * up)
    return mlp(config, hidden, layer, drop), load


def mlp(config, hidden, layer, drop):
    normed = rms_norm(hidden, layer["mlp_norm"], config.norm_eps)
    wide = project(normed, layer["w_up"], 1)
    wide = gelu(project(normed, layer["w_gate"], 1)) * wide if config.gated else jax.nn.relu(wide)
    return constrain(hidden + drop(project(drop(wide, "wide"), layer["w_down"], 1), "mlp"), "hidden")


def readout(params, config, hidden):
    """(hidden [..., d], matrix [d, Vp])."""
    if config.tied:
        return hidden * config.d ** -0.5, for_gradients(params["embed"].T, config, hidden.dtype)
    return hidden, for_gradients(params["head"], config, hidden.dtype)


def distance_bias(table, distance, both):
    """table [BUCKETS, H] to float32 [H, n], for distances int32 [n] of keys from a query."""
    return jnp.take(table, buckets(distance, both), axis=0).T.astype(jnp.float32)


def buckets(distance, both):
    """int32: the bucket of each distance. Half of the buckets are single distances, the others grow up to FARTHEST.
    `both`: each direction has half of all; else only positions before count."""
    count, found = BUCKETS, np.zeros_like(distance)
    if both:
        count //= 2
        found, distance = np.where(distance > 0, count, 0), np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    single = count // 2
    with np.errstate(divide="ignore"):
        far = np.log(distance.astype(np.float32) / single) / np.float32(np.log(FARTHEST / single)) * (count - single)
    far = np.minimum(single + np.where(distance < single, 0, far).astype(np.int64), count - 1)
    return (found + np.where(distance < single, distance, far)).astype(np.int32)
