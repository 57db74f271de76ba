"""The objective `masked`: hidden ids from those around them. `hiding` chooses them."""

from dataclasses import replace
from functools import cached_property

from .objective import USE_PIPELINE, Drawn, Examples

NAMES = ("<mask>", "[MASK]", "<MASK>", "<extra_mask>")  # pieces that are made for this


def mask_id(pieces, vocab):
    """Returns the id of the piece that is made for hidden ids; without one, the id behind the vocabulary."""
    known = {piece: number for number, (piece, _, _) in enumerate(pieces[:vocab])}
    return next((known[name] for name in NAMES if name in known), vocab)


class Masked(Drawn):
    """Without pieces, each id begins a word, in a program of the same size."""
    name = "masked"
    families = ("bert",)
    task, said = "fill-mask", "An encoder that predicts hidden ids from both sides"
    use = (USE_PIPELINE.format(task=task, more="")
           + "\nThe text has the tokenizer's `mask_token` where an id is wanted.\n")

    @staticmethod
    def mistakes_of_keys(options):
        if options.random + options.keep > 1:
            yield f"config.objective.keep: {options.keep:g} and random {options.random:g} are more than 1 together"

    @staticmethod
    def most_ids(options, vocab):
        return {"mask_id": vocab}

    @property
    def needs_pieces(self):
        return self.options.mask_id is None or self.options.whole_words

    def completed(self, vocab, labels=None, start=0):
        mask = mask_id(self.pieces, vocab) if self.options.mask_id is None else self.options.mask_id
        return replace(self.config, objective=replace(self.options, mask_id=mask)), max(vocab, mask + 1)

    @property
    def places(self):
        from .hiding import most
        return most(self.options.share, self.model.seq_len)

    @cached_property
    def begins(self):
        """Which ids begin a word, for whole words alone. One array: a program has it once."""
        from .hiding import begins_of
        return begins_of(self.pieces, self.model.vocab) if self.options.whole_words else None

    def examples(self, tokens, lengths, weights, keys):
        from .hiding import hide
        ids, layout, places, *known = hide(self.model, self.options, self.places, self.begins, tokens, lengths, weights,
                                           keys)
        return Examples(ids, layout, places, lambda: known)

    def marks(self):
        return [(self.options.mask_id, NAMES[0])]
