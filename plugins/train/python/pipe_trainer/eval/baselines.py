"""Baselines by counting, on the same scored targets: uniform, unigram, and a bigram after Kneser and Ney.

The bigram interpolates with absolute discounts: one for the counts of pairs, one for the counts of continuations. Each
is n1 / (n1 + 2 n2) of its own counts (Ney, Essen and Kneser 1994). The continuations interpolate with the uniform
distribution. So every probability is above zero, and the probabilities of a context sum to one.
"""

import numpy as np

from ..data.order import batches
from . import tally
from .evaluate import Sums, score, target_mask


def compute(train_rows, eval_rows, vocab, train_targets=None, eval_count=None):
    """Returns a dict for each baseline: `name`, `nats_per_token`, the members of evaluate.score, and the number of
    training targets that were counted (`train_targets`) and that exist (`train_targets_of`). Counts the first targets:
    the order of rows has no meaning. `train_targets` None: counts as many as memory and time allow. `eval_count`:
    scores only the first rows; None: all."""
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


def pair_codes(batch, vocab):
    """Returns previous * vocab + target for each scored target. The context of a target is always in its row."""
    mask = target_mask(batch)
    return batch.tokens[:, :-1][mask].astype(np.int64) * vocab + batch.tokens[:, 1:][mask]


def discount(counts):
    """Returns n1 / (n1 + 2 n2). If nothing occurs once: 0.5, so that unseen events get some probability."""
    ones, twos = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    return ones / (ones + 2 * twos) if ones else 0.5


class Counts:
    def __init__(self, codes, times, vocab):
        """`codes`: pairs, each once, in order. `times`: the count of each."""
        self.vocab, self.total = vocab, int(times.sum())
        self._codes, self._pairs = codes, times
        before, after = np.divmod(self._codes, vocab)
        self._as_target = np.bincount(after, self._pairs, vocab)
        self._as_context = np.bincount(before, self._pairs, vocab)
        self._discount = discount(self._pairs)
        self._kept_back = self._discount * np.bincount(before, minlength=vocab)  # per context, in counts
        self._continuation = self._continuations(np.bincount(after, minlength=vocab))

    def _continuations(self, contexts):
        """Returns the probability of each id in an unseen pair, from the number of contexts that the id follows."""
        less = discount(contexts[contexts > 0])
        kept_back = less * np.count_nonzero(contexts) / self.vocab
        return (np.maximum(contexts - less, 0) + kept_back) / contexts.sum()

    def unigram(self, after):
        return (self._as_target[after] + 1) / (self.total + self.vocab)

    def bigram(self, before, after):
        """Takes arrays of contexts and of ids. An unseen context uses only the continuations."""
        codes = before * self.vocab + after
        place = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        pairs = np.where(self._codes[place] == codes, self._pairs[place], 0)
        context = self._as_context[before]
        seen = context > 0
        context = np.where(seen, context, 1)
        direct = np.where(seen, np.maximum(pairs - self._discount, 0) / context, 0)
        return direct + np.where(seen, self._kept_back[before] / context, 1) * self._continuation[after]
