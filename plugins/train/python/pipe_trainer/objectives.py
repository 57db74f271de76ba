"""Objectives: the ids of a row that a model reads, and those that it has to predict. Made on the devices.

causal   each id of the row from those before it
masked   hidden ids from those around them: masked.py
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import masked


class Examples(NamedTuple):
    ids: jax.Array           # [R, T], that the model reads
    layout: tuple | None     # their segments and positions [R, T]; None: the ids tell them
    places: jax.Array | None  # [R, K]: positions whose hidden states predict; None: all, K = T
    answers: Callable        # gives (targets [R, K], weights float32 [R, K]: 1 for a scored target, else 0)


class Causal:
    on_device = False  # whether only the devices know which targets are scored

    def examples(self, tokens, lengths, weights, keys):
        del keys

        def answers():  # behind the hidden states, so that a program is the one that earlier versions compiled
            known = weights_of(lengths, tokens.shape[1] - 1) if weights is None else weights[:, 1:].astype(jnp.float32)
            return tokens[:, 1:], known
        return Examples(tokens[:, :-1], None, None, answers)

    def scored(self, batch, keys):
        """Returns the number of scored targets of micro-batches. With weights they may have none."""
        del keys
        _, lengths, weights = batch
        counted = jnp.sum(lengths - 1) if weights is None else jnp.sum(weights[..., 1:], dtype=jnp.int32)
        return counted.astype(jnp.float32)


class Masked:
    """`begins` [V]: whether an id begins a word; None: each does, in a program of the same size."""
    on_device = True

    def __init__(self, config, begins=None):
        self._model, self._options, self._count = config.model, config.objective, targets_of(config)
        self._begins = None
        if config.objective.whole_words:
            self._begins = np.ones(config.model.vocab, bool) if begins is None else begins

    def examples(self, tokens, lengths, weights, keys):
        ids, layout, places, *known = masked.hide(self._model, self._options, self._count, self._begins, tokens,
                                                  lengths, weights, keys)
        return Examples(ids, layout, places, lambda: known)

    def scored(self, batch, keys):
        def one(part):
            piece, keys = part
            return jnp.sum(self.examples(*piece, keys).answers()[1])
        if len(keys) == 1:  # not in a loop: the compiler sees that the step hides the same ids
            return one(jax.tree.map(lambda part: part[0], (batch, keys)))
        return jnp.sum(jax.lax.map(one, (batch, keys)))


CAUSAL = Causal()


def make(config, begins=None):
    return CAUSAL if config.objective.name == "causal" else Masked(config, begins)


def needs_pieces(config):
    """Returns whether the objective depends on the pieces of the tokenizer."""
    wanted = config.objective
    return wanted.name == "masked" and (wanted.mask_id is None or wanted.whole_words)


def completed(config, vocab, pieces=()):
    """Returns (the config with every number of its objective, the ids that its model needs). `vocab`: the ids of the
    tokenizer; `pieces`: its pieces, if `needs_pieces`."""
    wanted = config.objective
    if wanted.name == "causal":
        return config, vocab
    mask = masked.mask_id(pieces, vocab) if wanted.mask_id is None else wanted.mask_id
    return replace(config, objective=replace(wanted, mask_id=mask)), max(vocab, mask + 1)


def targets_of(config):
    """Returns the number of places of a row that predict."""
    if config.objective.name == "causal":
        return config.model.seq_len
    return masked.most(config.objective.share, config.model.seq_len)


def weights_of(lengths, positions):
    """1 for each target of a row, 0 for padding."""
    return (jnp.arange(positions) < lengths[..., None] - 1).astype(jnp.float32)
