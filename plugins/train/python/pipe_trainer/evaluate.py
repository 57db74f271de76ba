"""What a model makes of held-out rows: loss, and bits per byte and character, which compare tokenizers."""

import math
from dataclasses import dataclass, fields

import numpy as np


@dataclass
class Sums:
    """Exact sums over the rows that were scored. Those of parts add up: hosts and batches do not matter."""
    nats: float = 0.0   # minus the logarithm of the probability, of all targets
    targets: int = 0
    bytes: int = 0      # of the text under them
    chars: int = 0
    unknown: int = 0    # targets that are the unknown id: what they stood for is lost

    def add(self, batch, nats, unk_id=-1):
        """`nats`: the sum over the targets of the batch, those behind a row's length left out."""
        self.nats += float(nats)
        self.targets += int(batch.lengths.sum()) - len(batch.lengths)
        self.bytes += int(batch.bytes.sum())
        self.chars += int(batch.chars.sum())
        self.unknown += int((batch.tokens[:, 1:][target_mask(batch)] == unk_id).sum()) if unk_id >= 0 else 0

    def __add__(self, other):
        return Sums(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(Sums)))


def target_mask(batch):
    """[n, T]: which of tokens[:, 1:] are targets."""
    return np.arange(1, batch.tokens.shape[1])[None, :] < batch.lengths[:, None]


def score(sums):
    """Loss in nats per token, perplexity, bits per byte and per character.

    Bits are None where a target was unknown: a tokenizer that cannot tell characters apart would win.
    `unk_rate` is above zero then. Perplexity is None above what a float holds."""
    if sums.targets < 1:
        raise ValueError("nothing was scored: no targets")
    loss, bits = sums.nats / sums.targets, sums.nats / math.log(2)
    comparable = not sums.unknown and sums.bytes and sums.chars
    return {
        "loss": loss,
        "ppl": math.exp(loss) if loss < 700 else None,
        "bits_per_byte": bits / sums.bytes if comparable else None,
        "bits_per_char": bits / sums.chars if comparable else None,
        "unk_rate": sums.unknown / sums.targets,
        "targets": sums.targets,
        "bytes": sums.bytes,
        "chars": sums.chars,
    }
