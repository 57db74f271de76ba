"""The objective `next_sentence`: masked ids, and whether a second segment follows the first. write_bert masks and pairs
(stages/export/bert/bert.md), so nothing is drawn. Source: run_pretraining.py of google-research/bert.
"""

from dataclasses import replace

from .masked import Masked
from .objective import Examples, Objective

COUNTED = 1 << 15    # rows
USUAL_SHARE = 0.15   # of the ids of a row that are masked, for a program that is compiled without rows


class NextSentence(Objective):
    """The weights of a batch: where the second segment begins, the masked places, the ids that were there, which of
    them are used, and whether the second segment is a random one. In a step they have one member more: the weight of
    each row's answer about its second segment."""
    name = "next_sentence"
    families = ("bert",)
    sentence_pairs = on_device = True
    beside = ("next_sentence_loss", "next_sentence_accuracy")
    task = Masked.task
    use = Masked.use + ("`BertForPreTraining` reads a pair of texts, too: its `seq_relationship_logits` score a second "
                        "text that follows the first, and one that does not.\n")
    said = "An encoder that predicts hidden ids from both sides, and whether a second segment follows the first"

    def completed(self, vocab, labels=None, start=0):
        options = self.options
        if self.rows is not None and self.rows.predictions is not None:
            options = replace(options, mask_id=self.rows.tokenizer["mask_id"])
        return replace(self.config, objective=options, model=replace(self.model, next_sentence=True)), vocab

    def mistakes(self):
        if self.config.data.native:
            yield "config.data.native: the library reads packed rows, and next_sentence learns no such; leave it out"

    @property
    def places(self):
        from .hiding import most
        return most(USUAL_SHARE, self.model.seq_len) if self.rows is None else self.rows.predictions

    def weigh(self, batch):
        return batch.second, batch.places, batch.hidden, batch.there, batch.random

    def scored(self, batch, keys):
        import jax.numpy as jnp
        _, lengths, weights = batch
        if weights is None:  # a program that is compiled and not run
            return jnp.float32(lengths.size * self.places)
        return jnp.sum(weights[3], dtype=jnp.float32)

    def in_step(self, batch, total):
        """The loss of a step is the mean of its masked ids and that of its rows, so a row weighs as much as the masked
        ids of a mean row."""
        import jax.numpy as jnp
        tokens, lengths, weights = batch
        if weights is None:
            return batch
        return tokens, lengths, (*weights, jnp.broadcast_to(total / lengths.size, (*lengths.shape, 1)))

    def examples(self, tokens, lengths, weights, keys):
        import jax.numpy as jnp
        ids = tokens[:, :-1]
        index = jnp.broadcast_to(jnp.arange(ids.shape[1], dtype=jnp.int32), ids.shape)
        if weights is None:  # a program that is compiled and not run
            slots = jnp.broadcast_to(jnp.arange(self.places, dtype=jnp.int32), (len(ids), self.places))
            weights = lengths[:, None] // 2, slots, slots, jnp.ones_like(slots), 0 * lengths[:, None]
            weights = *weights, jnp.ones_like(lengths, jnp.float32)[:, None]
        second, places, hidden, there, random, *share = weights
        inside = index < lengths[:, None]
        layout = jnp.where(inside, 0, -1), index, jnp.where(inside & (index >= second), 1, 0)
        first = jnp.zeros_like(second)
        return Examples(ids, layout, jnp.concatenate([first, places], axis=1),
                        lambda: (hidden, there.astype(jnp.float32)),
                        more=(random[:, 0], (lengths > 0).astype(jnp.float32), *share))

    def loss(self, params, positions, examples, hidden, penalties):
        """Nats are those of the masked ids alone: they compare with those of other models. The gradient is that of
        both losses."""
        from jax import lax

        nats, weights = super().loss(params, positions, examples, hidden[:, 1:], penalties)
        if len(examples.more) < 3:  # an evaluation
            return nats, weights
        added = (examples.more[2][:, 0] * self._judged(params, examples, hidden)[0]).sum()
        return nats + added - lax.stop_gradient(added), weights

    def _judged(self, params, examples, hidden):
        """Returns (nats of the answer about each row, whether it is right)."""
        import jax.numpy as jnp
        from jax import nn

        from ..model import bert
        scores = bert.follows(params, self.model, hidden[:, 0])
        random, there = examples.more[:2]
        nats = -jnp.take_along_axis(nn.log_softmax(scores), random[:, None], axis=1)[:, 0]
        return there * nats, there * (jnp.argmax(scores, axis=1) == random)

    def sums_beside(self, params, examples, hidden):
        import jax.numpy as jnp
        nats, right = self._judged(params, examples, hidden)
        return [jnp.sum(examples.more[1]), jnp.sum(nats), jnp.sum(right)]

    @staticmethod
    def said_beside(scores):
        return (f" Whether the second segment follows the first, it tells in {scores['next_sentence_accuracy']:.2%} of "
                f"the rows ({scores['next_sentence_loss']:.4f} nats). The baselines count masked ids.")

    def scores_beside(self, sums):
        rows, nats, right = sums
        return {"next_sentence_loss": float(nats / rows), "next_sentence_accuracy": float(right / rows)}

    def of_ids(self, rows):
        return Unmasked(rows)

    def marks(self):
        return Masked.marks(self)


class Unmasked:
    """Rows whose scored targets are their masked ids, as they were: for baselines. They read the first COUNTED rows,
    which take a few seconds; a corpus is there several times, with other masks."""

    def __init__(self, rows):
        self._rows, self.count = rows, min(rows.count, COUNTED)

    def __getattr__(self, name):
        return getattr(self._rows, name)

    def in_order(self, first, n):
        import numpy as np
        batch = self._rows.in_order(first, n)
        tokens, weights = batch.tokens.copy(), np.zeros(batch.tokens.shape, np.uint8)
        row, slot = np.nonzero(batch.there)
        tokens[row, batch.places[row, slot]] = batch.hidden[row, slot]
        weights[row, batch.places[row, slot]] = 1
        return batch._replace(tokens=tokens, weights=weights)
