"""The objectives of encoder-decoders. `hidden_spans` chooses the ids that are hidden, `pairs` makes both sides of it.

spans    random spans, as T5 hides them: https://arxiv.org/abs/1910.10683, section 3.1.4
prefix   the end of each document
"""

from dataclasses import replace

from ..data.sentencepiece_model import SPACE
from .objective import BY_CLASS, USE, Drawn, Examples

SENTINELS = 100  # as T5 has them


def name_of(number):
    return f"<extra_id_{number}>"


def sentinels(pieces, vocab, count=None):
    """Returns (the id of the first sentinel, their number): those of the tokenizer, if their ids go down from the
    first, as in T5's tokenizers, else `count` ids behind its vocabulary, in the same order."""
    known = {piece.removeprefix(SPACE): number for number, (piece, _, _) in enumerate(pieces[:vocab])}
    first, there = known.get(name_of(0)), 0
    while first is not None and known.get(name_of(there)) == first - there:
        there += 1
    if there > 1:
        return first, min(there, count or there)
    count = count or SENTINELS
    return vocab + count - 1, count


class Prefix(Drawn):
    """An evaluation scores ids of text alone: sentinels and ends tell little, and no baseline has them."""
    name = "prefix"
    families = ("t5",)
    answering = BY_CLASS
    scored_share = 0.5  # a document is hidden from a random id on
    task = "text2text-generation"
    said = "An encoder and a decoder that writes text about the text that the encoder reads"
    behind_use = "\nA model of hidden spans fills the text in where `<extra_id_0>`, `<extra_id_1>` and so on stand.\n"
    use = USE.format(auto="AutoModelForSeq2SeqLM") + behind_use

    @staticmethod
    def most_ids(options, vocab):
        return {"start": vocab - 1}

    def completed(self, vocab, labels=None, start=0):
        wanted = replace(self.options, start=start if self.options.start is None else self.options.start)
        return replace(self.config, objective=wanted), max(vocab, wanted.start + 1, (wanted.sentinel or 0) + 1)

    @property
    def places(self):
        return self.model.seq_len

    def hidden(self, ids, free, weights, keys):
        """Returns which ids [R, T] are hidden."""
        import jax

        from ..model import model
        from .hidden_spans import hide_ends
        segments = model.documents(self.model, ids)[0]
        return jax.vmap(lambda *row: hide_ends(row[0], row[1], weights is not None, row[2]))(free, segments, keys)

    def examples(self, tokens, lengths, weights, keys):
        import jax.numpy as jnp

        from . import hiding, pairs
        ids, inside, free = hiding.free_of(self.model, tokens, lengths, weights)
        hidden = self.hidden(ids, free, weights, keys)
        marks = pairs.Marks(self.options.start, self.options.sentinel or 0, len(self.marks()))
        made = pairs.pair(self.model, marks, self.places, ids, inside, hidden)
        return Examples(made.read, (made.read_in, None), None,
                        lambda: (made.targets, made.used.astype(jnp.float32)), (made.given, made.given_in),
                        lambda: (made.targets, made.text.astype(jnp.float32)))

    def predicted(self, params, labels, ids, ends):
        """The common beginning of the labels is the decoder's own text."""
        import jax.numpy as jnp

        from . import labelled
        begun = jnp.array([self.options.start, *labels.ids[0][:labels.common]])
        slots = self.places if self.model.experts else len(begun)  # as in an evaluation: experts have room for a share
        return labelled.shares(params, self.model, labels, ids, ends, jnp.full_like(ends, labels.common), begun, slots)


class Spans(Prefix):
    name = "spans"
    answering = None
    scored_share = Drawn.scored_share

    @staticmethod
    def mistakes_of_keys(options):
        if options.sentinel is not None and options.sentinel + 1 < (options.sentinels or 1):
            yield (f"config.objective.sentinels: {options.sentinels} do not go down from the id {options.sentinel}; "
                   f"take fewer, or a greater sentinel")

    @staticmethod
    def most_ids(options, vocab):
        return {"start": vocab - 1, "sentinel": vocab + (options.sentinels or 1) - 1}

    @property
    def needs_pieces(self):
        return self.options.sentinel is None

    def completed(self, vocab, labels=None, start=0):
        config, _ = super().completed(vocab, labels, start)
        first, count = self.options.sentinel, self.options.sentinels
        if first is None:
            first, count = sentinels(self.pieces, vocab, count)
        wanted = replace(config.objective, sentinel=first, sentinels=count or min(SENTINELS, first + 1))
        return replace(config, objective=wanted), max(vocab, wanted.start + 1, first + 1)

    @property
    def places(self):
        from .hidden_spans import slots_of
        return slots_of(self.options, self.model.seq_len)

    def hidden(self, ids, free, weights, keys):
        import jax

        from .hidden_spans import hide_spans
        return jax.vmap(lambda *row: hide_spans(self.options, *row))(free, keys)

    def marks(self):
        first, count = self.options.sentinel, self.options.sentinels
        return [(first - number, name_of(number)) for number in reversed(range(count))]
