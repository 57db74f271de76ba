"""The encoder of the family `bert`: LayerNorm after each half of a layer, learned positions, GELU, and a head of its
own before the embedding scores the ids. Source: google-research/bert, as transformers has it (BertForMaskedLM).

A text has one segment, so the embedding of its type is a part of the positions. A model with `next_sentence` has a
table of two types, and a pooler with a head that tells whether the second segment follows the first
(BertForPreTraining). GELU is the approximation by tanh, as there; `exact_gelu` is for models of transformers that have
the other one.
"""

import jax
import jax.numpy as jnp

from .layers import for_gradients
from .norms import layer_norm
from .primitives import add_bias, gelu, lookup, project
from .sharding import constrain

TYPES = FOLLOWS = 2  # segments of a text; whether the second one follows


def init(config, key):
    d, n, heads, h, ff = config.d, config.layers, config.heads, config.head_dim, config.ff
    keys = iter(jax.random.split(key, 9))

    def normal(shape):
        return config.init_std * jax.random.truncated_normal(next(keys), -2, 2, shape, jnp.float32)

    return {
        "embed": normal((config.padded_vocab, d)),
        "position_embed": normal((config.seq_len, d)),
        "embed_norm": jnp.ones((d,)), "embed_norm_bias": jnp.zeros((d,)),
        "blocks": {
            "wq": normal((n, d, heads, h)), "q_bias": jnp.zeros((n, heads * h)),
            "wk": normal((n, d, heads, h)), "k_bias": jnp.zeros((n, heads * h)),
            "wv": normal((n, d, heads, h)), "v_bias": jnp.zeros((n, heads * h)),
            "wo": normal((n, heads, h, d)), "o_bias": jnp.zeros((n, d)),
            "attn_norm": jnp.ones((n, d)), "attn_norm_bias": jnp.zeros((n, d)),
            "w_up": normal((n, d, ff)), "up_bias": jnp.zeros((n, ff)),
            "w_down": normal((n, ff, d)), "down_bias": jnp.zeros((n, d)),
            "mlp_norm": jnp.ones((n, d)), "mlp_norm_bias": jnp.zeros((n, d)),
        },
        "readout": head_over_labels(config, key) if config.classes else {
            "dense": normal((d, d)), "dense_bias": jnp.zeros((d,)),
            "norm": jnp.ones((d,)), "norm_bias": jnp.zeros((d,)),
            "ids_bias": jnp.zeros((config.padded_vocab,))},
        **(of_next_sentence(config, key) if config.next_sentence else {}),
    }


def of_next_sentence(config, key):
    """The fresh parts of a model with `next_sentence`."""
    of_types, of_dense, of_next = jax.random.split(jax.random.fold_in(key, 2), 3)

    def normal(key, shape):
        return config.init_std * jax.random.truncated_normal(key, -2, 2, shape, jnp.float32)
    return {"types": normal(of_types, (TYPES, config.d)),
            "pooler": {"dense": normal(of_dense, (config.d, config.d)), "dense_bias": jnp.zeros((config.d,)),
                       "next": normal(of_next, (config.d, FOLLOWS)), "next_bias": jnp.zeros((FOLLOWS,))}}


def head_over_labels(config, key):
    """A fresh head. Its last axis is filled up as a vocabulary is."""
    of_dense, of_labels = jax.random.split(jax.random.fold_in(key, 1))

    def normal(key, shape):
        return config.init_std * jax.random.truncated_normal(key, -2, 2, shape, jnp.float32)
    return {"dense": normal(of_dense, (config.d, config.d)), "dense_bias": jnp.zeros((config.d,)),
            "labels": normal(of_labels, (config.d, config.scored)), "labels_bias": jnp.zeros((config.scored,))}


def fresh(made, config, seed):
    """Returns what head_over_labels or of_next_sentence makes, as arrays of numpy."""
    return jax.device_get(made(config, jax.random.key(seed)))


def embed(params, config, ids, positions, compute, types=None):
    """`types`: 0 or 1 for each id, the segment that it belongs to; None: all are of the first."""
    hidden = lookup(params["embed"], ids, compute) + lookup(params["position_embed"], positions, compute)
    if config.next_sentence:
        types = jax.nn.one_hot(jnp.zeros_like(ids) if types is None else types, TYPES, dtype=compute)
        hidden += project(types, for_gradients(params["types"], config, compute), 1)  # no sum of its gradient is narrow
    norm = for_gradients({name: params[name] for name in ("embed_norm", "embed_norm_bias")}, config, compute)
    return layer_norm(hidden, norm["embed_norm"], norm["embed_norm_bias"], config.norm_eps)


def block(config, attend, segments, positions):
    """hidden, layer, drop to hidden."""
    def one(hidden, layer, drop):
        q, k, v = (biased(project(hidden, layer["w" + name], 1), layer[name + "_bias"]) for name in "qkv")
        mixed = biased(project(attend(q, k, v, segments), layer["wo"], 2), layer["o_bias"])
        hidden = layer_norm(hidden + drop(mixed, "attention"), layer["attn_norm"], layer["attn_norm_bias"],
                            config.norm_eps)
        hidden = constrain(hidden, "hidden")
        wide = gelu(biased(project(hidden, layer["w_up"], 1), layer["up_bias"]), config.exact_gelu)
        narrow = biased(project(wide, layer["w_down"], 1), layer["down_bias"])
        hidden = layer_norm(hidden + drop(narrow, "mlp"), layer["mlp_norm"], layer["mlp_norm_bias"], config.norm_eps)
        return constrain(hidden, "hidden")
    return one


def final(config, hidden, last):
    return hidden


def readout(params, config, hidden):
    """(hidden [..., d + 1], matrix [d + 1, Vp]): the last column of the hidden states is 1, and the last row of the
    matrix is the bias of the ids."""
    head = for_gradients(params["readout"], config, hidden.dtype)
    hidden = biased(project(hidden, head["dense"], 1), head["dense_bias"])
    if config.classes:
        matrix = jnp.concatenate([head["labels"], head["labels_bias"][None].astype(head["labels"].dtype)])
        hidden = jnp.tanh(hidden)
        return jnp.concatenate([hidden, one_beside(hidden)], axis=-1), matrix
    hidden = gelu(hidden, config.exact_gelu)
    hidden = layer_norm(hidden, head["norm"], head["norm_bias"], config.norm_eps)
    one = one_beside(hidden)
    table = for_gradients(params["embed"], config, hidden.dtype)
    matrix = jnp.concatenate([table.T, head["ids_bias"][None].astype(table.dtype)])
    return jnp.concatenate([hidden, one], axis=-1), matrix


def follows(params, config, hidden):
    """hidden [R, d] of the first positions to float32 [R, 2]: the scores of a second segment that follows the first,
    and of one that does not."""
    head = for_gradients(params["pooler"], config, hidden.dtype)
    pooled = jnp.tanh(hidden @ head["dense"] + head["dense_bias"])
    return (jnp.matmul(pooled, head["next"], preferred_element_type=jnp.float32)
            + head["next_bias"].astype(jnp.float32))


def one_beside(hidden):
    return jnp.ones((*hidden.shape[:-1], 1), hidden.dtype)


def biased(y, bias):
    """y [..., out...] plus a bias for all of out."""
    batch = y.shape[:2]
    return add_bias(y.reshape(*batch, -1), bias).reshape(y.shape)
