"""A model of any family: parameters, hidden states, logits. Documents are kept apart by attention.

A family is a module with `init`, `embed`, `block`, `final` and `readout`; `families` has its facts. One with a decoder
has `forward` in place of the middle three. Parameters are a dict of float32 arrays, those of the blocks stacked over
layers. `forward` computes in the type it is told.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import lax

from . import attention, bert, families, llama, lm1b, t5
from .layers import for_gradients, through_layers
from .regularizers import no_dropout
from .sharding import constrain

MODULES = {"llama": llama, "lm1b": lm1b, "bert": bert, "t5": t5}
MASKED = -1e30


def module(config):
    return MODULES[config.family]


def init(config, key):
    """Fresh parameters, the same for a key on every mesh."""
    return module(config).init(config, key)


def shapes(config):
    """The parameters as shapes."""
    return jax.eval_shape(lambda: init(config, jax.random.key(0)))


def documents(config, x):
    """(segment, position) of each id: a document counts from the id that begins it. Behind an eos is another segment in
    any case, such as a label, or the rest of a document."""
    begins, index = x == config.eos, jnp.arange(x.shape[-1])
    if config.begin is not None:
        begins = (jnp.roll(begins, 1, axis=-1) & (index > 0)) | (x == config.begin)
    start = lax.cummax(jnp.where(begins, index, 0), axis=x.ndim - 1)
    return jnp.cumsum(begins, axis=-1, dtype=jnp.int32), (index - start).astype(jnp.int32)


def forward(params, config, x, attend=None, compute=jnp.float32, drop=no_dropout, layout=None, given=None):
    """[B, T] ids to [B, T, d] hidden states after the last layer. `attend`: a form of `attention`; `drop`: of
    `regularizers`; `layout`: segments and positions, and of a model with `next_sentence` types; None: the ids tell
    them. `given`: ids [B, D] of a decoder and their segments, for a family that has one; the hidden states are those of
    the decoder."""
    return forward_with_loads(params, config, x, attend, compute, drop, layout, given)[0]


def forward_with_loads(params, config, x, attend=None, compute=jnp.float32, drop=no_dropout, layout=None, given=None,
                       training=False):
    """As `forward`, with the loads of `experts.summed`; None without experts. `training`: with that capacity."""
    kind = module(config)
    attend = attend or attention.plain(families.of(config).causal)
    segments, positions, *types = documents(config, x) if layout is None else layout
    if given is not None:
        return kind.forward(params, config, x, segments, *given, compute, drop, training)
    hidden = kind.embed(params, config, x, positions, compute, *types)
    block = kind.block(config, attend, segments, positions)
    hidden = constrain(drop(hidden, "embedding"), "hidden")
    hidden, loads = through_layers(block, hidden, params["blocks"], config, compute, drop)
    last = for_gradients({name: leaf for name, leaf in params.items() if name.startswith("final")}, config, compute)
    return kind.final(config, hidden, last), loads


def readout(params, config, hidden):
    """([..., n], [n, Vp]): hidden states, and the matrix that makes logits of them, in the type of its gradient."""
    return module(config).readout(params, config, hidden)


def logits(params, config, hidden):
    """[..., d] to float32 [..., Vp]; ids that fill the vocabulary up are impossible. With a head over labels: those."""
    hidden, head = readout(params, config, hidden)
    return masked_logits(over_labels(config), hidden, head.astype(hidden.dtype))


def over_labels(config):
    """The config whose vocabulary is what the head scores: that of the model, or its labels."""
    return replace(config, vocab=config.classes) if config.classes else config


def masked_logits(config, hidden, head):
    scores = jnp.matmul(hidden, head, preferred_element_type=jnp.float32)
    if config.padded_vocab == config.vocab:
        return scores
    return jnp.where(jnp.arange(config.padded_vocab) < config.vocab, scores, MASKED)


def count(params):
    return sum(leaf.size for leaf in jax.tree.leaves(params))
