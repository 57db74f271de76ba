"""Scores of a model on held-out rows: loss, and bits per byte and per character, which compare tokenizers."""

import math
from dataclasses import dataclass

import numpy as np

from ..data.rows import NothingScored


@dataclass
class Sums:
    """Exact sums over the scored rows."""
    nats: float = 0.0   # minus the logarithm of the probability, over the scored targets
    targets: int = 0    # with loss weights: those of weight 1
    bytes: int = 0      # of the text of the targets
    chars: int = 0
    unknown: int = 0    # targets that are the unknown id: their text is lost
    hidden: int = 0     # targets without text
    beside: tuple = ()  # of Objective.sums_beside

    def add(self, batch, nats, unk_id=-1):
        """Adds a batch. `nats`: the sum over its scored targets."""
        self.nats += float(nats)
        self.targets += int(target_mask(batch).sum())
        self.bytes += int(batch.bytes.sum())
        self.chars += int(batch.chars.sum())
        self.unknown += int((batch.tokens[:, 1:][target_mask(batch)] == unk_id).sum()) if unk_id >= 0 else 0

    def add_hidden(self, nats, hidden, *beside):
        """Adds a batch whose targets the devices know: nothing tells how much text they are."""
        self.nats += float(nats)
        self.targets += int(hidden)
        self.hidden += int(hidden)
        self.beside = tuple(float(one) + so_far for one, so_far in zip(beside, self.beside or (0.0,) * len(beside)))


def target_mask(batch):
    """Returns a mask [n, T] of the scored targets among tokens[:, 1:]: without loss weights, of all targets."""
    if batch.weights is not None:
        return batch.weights[:, 1:] == 1
    return np.arange(1, batch.tokens.shape[1])[None, :] < batch.lengths[:, None]


def score(sums):
    """Returns the loss in nats per token, perplexity, and bits per byte and per character.

    Bits are None if a target is unknown: a tokenizer that cannot tell characters apart would win. `unk_rate` is above
    zero then. Perplexity is None above the range of a float."""
    if sums.targets < 1:
        raise NothingScored("nothing was scored: no targets")
    loss, bits = sums.nats / sums.targets, sums.nats / math.log(2)
    comparable = not sums.unknown and sums.bytes and sums.chars
    return {
        "loss": loss,
        "ppl": math.exp(loss) if loss < 700 else None,
        "bits_per_byte": bits / sums.bytes if comparable else None,
        "bits_per_char": bits / sums.chars if comparable else None,
        "unk_rate": None if sums.hidden else sums.unknown / sums.targets,
        "targets": sums.targets,
        "bytes": sums.bytes,
        "chars": sums.chars,
    }
