"""What counting alone reaches on the same targets: uniform, unigram, and a bigram after Kneser and Ney.

The bigram interpolates with absolute discounts, one for the counts of pairs and one for those of
continuations, each n1 / (n1 + 2 n2) of its own counts (Ney, Essen and Kneser 1994); the continuations
interpolate with the uniform distribution. So every probability is above zero, and those of a context sum
to one.
"""

import numpy as np

from . import tally
from .evaluate import Sums, score, target_mask

ROWS_AT_ONCE = 1024


def compute(train_rows, eval_rows, vocab, train_targets=None, eval_count=None):
    """A dict for each baseline: `name`, `nats_per_token`, what evaluate.score gives, and how many `train_targets`
    were counted, of how many (`train_targets_of`): the first ones; rows are in an order without order. None counts all
    that memory and time allow. `eval_count`: score the first rows alone."""
    pairs = (pair_codes(batch, vocab) for batch in batches(train_rows, train_rows.count))
    codes, times, counted = tally.count(pairs, vocab, train_targets)
    counts = Counts(codes, times, vocab)
    sums, scored = Sums(), []
    for batch in batches(eval_rows, eval_count or eval_rows.count):
        sums.add(batch, 0.0, eval_rows.tokenizer["unk_id"])
        scored.append(pair_codes(batch, vocab))
    codes, times = np.unique(np.concatenate(scored), return_counts=True)
    before, after = np.divmod(codes, vocab)
    found = {"uniform": np.full(len(codes), 1 / vocab), "unigram": counts.unigram(after),
             "bigram_kn": counts.bigram(before, after)}
    for name, probabilities in found.items():
        sums.nats = float(-(times * np.log(probabilities)).sum())
        scores = score(sums)
        found[name] = {"name": name, "nats_per_token": scores.pop("loss"), **scores,
                       "train_targets": counted, "train_targets_of": train_rows.targets}
    return list(found.values())


def batches(rows, count):
    for first in range(0, count, ROWS_AT_ONCE):
        yield rows.in_order(first, min(ROWS_AT_ONCE, count - first))


def pair_codes(batch, vocab):
    """previous * vocab + target, of each target: its context is always in its row."""
    mask = target_mask(batch)
    return batch.tokens[:, :-1][mask].astype(np.int64) * vocab + batch.tokens[:, 1:][mask]


def discount(counts):
    """Half where nothing comes once, so that something is left for what was never seen."""
    ones, twos = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    return ones / (ones + 2 * twos) if ones else 0.5


class Counts:
    def __init__(self, codes, times, vocab):
        """`codes` of pairs, each once and in order; how often each came."""
        self.vocab, self.total = vocab, int(times.sum())
        self._codes, self._pairs = codes, times
        before, after = np.divmod(self._codes, vocab)
        self._as_target = np.bincount(after, self._pairs, vocab)
        self._as_context = np.bincount(before, self._pairs, vocab)
        self._discount = discount(self._pairs)
        self._kept_back = self._discount * np.bincount(before, minlength=vocab)  # of each context, in counts
        self._continuation = self._continuations(np.bincount(after, minlength=vocab))

    def _continuations(self, contexts):
        """How likely an id is where the pair was never seen, by the number of contexts that it follows."""
        less = discount(contexts[contexts > 0])
        kept_back = less * np.count_nonzero(contexts) / self.vocab
        return (np.maximum(contexts - less, 0) + kept_back) / contexts.sum()

    def unigram(self, after):
        return (self._as_target[after] + 1) / (self.total + self.vocab)

    def bigram(self, before, after):
        """Of arrays of contexts and of ids; a context that was never seen leaves the continuations alone."""
        codes = before * self.vocab + after
        place = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        pairs = np.where(self._codes[place] == codes, self._pairs[place], 0)
        context = self._as_context[before]
        seen = context > 0
        context = np.where(seen, context, 1)
        direct = np.where(seen, np.maximum(pairs - self._discount, 0) / context, 0)
        return direct + np.where(seen, self._kept_back[before] / context, 1) * self._continuation[after]
