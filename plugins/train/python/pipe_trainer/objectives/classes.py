"""The objective `classes`: the label of a document, by a head over labels. Nothing is drawn, but only the devices look
for labels."""

from dataclasses import replace

from ..data.labels import CLASSES, most, of_shape
from .objective import BY_CLASS, USE_PIPELINE, Drawn, Examples


class Classes(Drawn):
    name = "classes"
    families = ("bert",)
    answering = BY_CLASS
    head = True
    task, said = "text-classification", "An encoder with a head over labels"
    use = USE_PIPELINE.format(task=task, more="") + "\nor `pipe predict` on the directory of the run.\n"

    @staticmethod
    def takes_classes(number):
        return True

    def completed(self, vocab, labels=None, start=0):
        number = len(labels.names) if labels is not None and labels.kind == CLASSES else self.model.classes or 2
        return replace(self.config, model=replace(self.model, classes=number)), vocab

    @property
    def places(self):
        return most(self.model.seq_len)

    @property
    def newline(self):
        return -1 if self.rows is None else self.rows.tokenizer["newline_id"]

    def examples(self, tokens, lengths, weights, keys):
        import jax.numpy as jnp

        from . import labelled
        labels = self.rows and self.rows.labels or of_shape(self.model.classes)
        ids, layout, places, numbers, there = labelled.read(self.model, labels, self.newline, tokens, lengths, weights)
        return Examples(ids, layout, places, lambda: (numbers, there.astype(jnp.float32)))

    def answers(self, params, labels, hidden, targets, weights):
        from . import labelled
        return labelled.judged(weights > 0, targets, labelled.scores(params, self.model, None, hidden))

    def of_ids(self, rows):
        return None

    def label_begins(self, labels, newline):
        # The text of BERT ends with [SEP].
        return [] if self.model.begin is None else [self.model.eos]

    def predicted(self, params, labels, ids, ends):
        import jax.numpy as jnp

        from . import labelled
        return labelled.shares(params, self.model, labels, ids, ends, jnp.zeros_like(ends))
