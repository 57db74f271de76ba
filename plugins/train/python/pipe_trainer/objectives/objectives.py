"""Objectives: the ids of a row that a model reads, and those that it has to predict. Made on the devices.

causal   each id of the row from those before it
masked   hidden ids from those around them: masked.py
spans    hidden spans, by a decoder, from all that is shown: spans.py
prefix   the end of a document, by a decoder, from its beginning: spans.py
classes  the label of a document, by a head over labels: classes.py
regression  the number of a document, by such a head: regression.py
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..data import labels
from ..model import model
from . import classes, masked, pairs, spans


OF_PAIRS = ("spans", "prefix")  # objectives of a decoder behind an encoder


class Examples(NamedTuple):
    ids: jax.Array           # [R, T], that the model reads
    layout: tuple | None     # their segments and positions [R, T]; None: the ids tell them
    places: jax.Array | None  # [R, K]: positions whose hidden states predict; None: all, K = T
    answers: Callable        # gives (targets [R, K], weights float32 [R, K]: 1 for a scored target, else 0)
    given: tuple | None = None  # ids and segments [R, K] of a decoder
    judged: Callable | None = None  # as `answers`, for an evaluation, where it scores fewer targets; None: it does not


def weights_of_rows(batch):
    return batch.weights


class Causal:
    on_device = False  # whether only the devices know which targets are scored
    weigh = staticmethod(weights_of_rows)  # gives what `examples` takes as the weights of a batch of rows

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


class Drawn:
    """An objective that draws the ids that a model predicts. Only the devices know which they are."""
    on_device = True
    weigh = staticmethod(weights_of_rows)

    def scored(self, batch, keys):
        def one(part):
            piece, keys = part
            return jnp.sum(self.examples(*piece, keys).answers()[1])
        if len(keys) == 1:  # not in a loop: the compiler sees that the step draws the same ids
            return one(jax.tree.map(lambda part: part[0], (batch, keys)))
        return jnp.sum(jax.lax.map(one, (batch, keys)))


class Masked(Drawn):
    """`begins` [V]: whether an id begins a word; None: each does, in a program of the same size."""

    def __init__(self, config, begins=None):
        self._model, self._options, self._count = config.model, config.objective, targets_of(config)
        self._begins = None
        if config.objective.whole_words:
            self._begins = np.ones(config.model.vocab, bool) if begins is None else begins

    def examples(self, tokens, lengths, weights, keys):
        ids, layout, places, *known = masked.hide(self._model, self._options, self._count, self._begins, tokens,
                                                  lengths, weights, keys)
        return Examples(ids, layout, places, lambda: known)


class Pairs(Drawn):
    """For a decoder. An evaluation scores ids of text alone: sentinels and ends tell little, and no baseline has
    them."""

    def __init__(self, config):
        self._model, self._options, self._slots = config.model, config.objective, targets_of(config)
        self._marks = pairs.Marks(config.objective.start, config.objective.sentinel or 0,
                                  config.objective.sentinels if config.objective.name == "spans" else 0)

    def examples(self, tokens, lengths, weights, keys):
        ids, inside, free = masked.free_of(self._model, tokens, lengths, weights)
        if self._options.name == "spans":
            hidden = jax.vmap(lambda *row: spans.hide_spans(self._options, *row))(free, keys)
        else:
            segments = model.documents(self._model, ids)[0]
            hidden = jax.vmap(lambda *row: spans.hide_ends(row[0], row[1], weights is not None, row[2]))(
                free, segments, keys)
        made = pairs.pair(self._model, self._marks, self._slots, ids, inside, hidden)
        return Examples(made.read, (made.read_in, None), None,
                        lambda: (made.targets, made.used.astype(jnp.float32)), (made.given, made.given_in),
                        lambda: (made.targets, made.text.astype(jnp.float32)))


class Classes(Drawn):
    """Nothing is drawn, but only the devices look for labels."""

    def __init__(self, config, named, newline):
        self._model, self._newline = config.model, newline
        self._labels = named or labels.of_shape(config.model.classes)

    def examples(self, tokens, lengths, weights, keys):
        del keys
        ids, layout, places, numbers, there = classes.read(self._model, self._labels, self._newline, tokens, lengths,
                                                           weights)
        return Examples(ids, layout, places, lambda: (numbers, there.astype(jnp.float32)))


class Regression(Drawn):
    """Nothing is drawn, but only the devices look for labels. `standard`: number_labels.Numbers.standard of the rows;
    None: there are none. The weights of a batch have the numbers of its documents beside them."""

    def __init__(self, config, standard, newline):
        self._model, self._newline = config.model, newline
        self.weigh = lambda batch: (batch.weights, standard(batch))

    def examples(self, tokens, lengths, weights, keys):
        del keys
        weights, numbers = (None, 0.0) if weights is None else weights  # None: a program that is compiled and not run
        ids, layout, places, _, there = classes.read(self._model, None, self._newline, tokens, lengths, weights)
        return Examples(ids, layout, places,
                        lambda: (jnp.broadcast_to(numbers, there.shape), there.astype(jnp.float32)))


CAUSAL = Causal()


def make(config, begins=None, rows=None):
    """`begins`: of Masked. `rows`: for labels; None: the program is compiled and not run."""
    newline = -1 if rows is None else rows.tokenizer["newline_id"]
    if config.objective.name == "classes":
        return Classes(config, rows and rows.labels, newline)
    if config.objective.name == labels.OF_NUMBERS:
        return Regression(config, rows and rows.labels.standard(rows), newline)
    if config.objective.name in OF_PAIRS:
        return Pairs(config)
    return CAUSAL if config.objective.name == "causal" else Masked(config, begins)


def needs_pieces(config):
    """Returns whether the objective depends on the pieces of the tokenizer."""
    wanted = config.objective
    return (wanted.name == "masked" and (wanted.mask_id is None or wanted.whole_words)
            or wanted.name == "spans" and wanted.sentinel is None)


def completed(config, vocab, pieces=(), start=0, named=None):
    """Returns (the config with every number of its objective, the ids that its model needs). `vocab`: the ids of the
    tokenizer; `pieces`: its pieces, if `needs_pieces`; `start`: the first input of a decoder; `named`: the labels of
    the rows."""
    wanted = config.objective
    if wanted.name == "masked":
        mask = masked.mask_id(pieces, vocab) if wanted.mask_id is None else wanted.mask_id
        return replace(config, objective=replace(wanted, mask_id=mask)), max(vocab, mask + 1)
    if wanted.name == "classes":
        number = len(named.names) if isinstance(named, labels.Labels) else config.model.classes or 2
        return replace(config, model=replace(config.model, classes=number)), vocab
    if wanted.name == labels.OF_NUMBERS:
        return replace(config, model=replace(config.model, classes=1)), vocab
    if wanted.name == "causal":
        return config, vocab
    wanted = replace(wanted, start=start if wanted.start is None else wanted.start)
    if wanted.name == "spans":
        first, count = wanted.sentinel, wanted.sentinels
        if first is None:
            first, count = spans.sentinels(pieces, vocab, count)
        wanted = replace(wanted, sentinel=first, sentinels=count or min(spans.SENTINELS, first + 1))
    return replace(config, objective=wanted), max(vocab, wanted.start + 1, (wanted.sentinel or 0) + 1)


def marks_of(objective):
    """Returns the ids beside those of text, with their names, in the order of the ids."""
    if objective.name == "spans":
        return [(objective.sentinel - number, spans.name_of(number)) for number in reversed(range(objective.sentinels))]
    return [(objective.mask_id, masked.NAMES[0])] if objective.name == "masked" else []


def targets_of(config):
    """Returns the number of places of a row that predict."""
    if config.objective.name == "causal":
        return config.model.seq_len
    if config.objective.name in labels.HEADS:
        return labels.most(config.model.seq_len)
    if config.objective.name in OF_PAIRS:
        return spans.slots_of(config.objective, config.model.seq_len)
    return masked.most(config.objective.share, config.model.seq_len)


def weights_of(lengths, positions):
    """1 for each target of a row, 0 for padding."""
    return (jnp.arange(positions) < lengths[..., None] - 1).astype(jnp.float32)
