"""The objective `regression`: the head of an encoder reads the first position of a document, as that of `classes`, and
its one output is the number of the document, in standard units."""

from dataclasses import replace

from .classes import Classes
from .objective import BY_NUMBER, USE_PIPELINE, Examples


class Regression(Classes):
    """The weights of a batch have the numbers of its documents beside them."""
    name = "regression"
    answering = BY_NUMBER
    said = "An encoder with a head that gives a number"
    use = (USE_PIPELINE.format(task=Classes.task, more=', function_to_apply="none"')
           + "\nor `pipe predict` on the directory of the run.\n")

    @staticmethod
    def takes_classes(number):
        return number == 1

    def mistakes(self):
        for key in ("label_smoothing", "z_loss"):
            if getattr(self.config.regularizers, key):
                yield (f"config.regularizers.{key}: is about what is chosen among many, and a number is not; leave it "
                       f"out")

    def completed(self, vocab, labels=None, start=0):
        return replace(self.config, model=replace(self.model, classes=1)), vocab

    def measure(self, rows, eval_rows):
        from ..data import number_labels
        rows.labels = eval_rows.labels = number_labels.of_rows(rows)

    def weigh(self, batch):
        return batch.weights, self.rows.labels.standard(self.rows, batch)

    def examples(self, tokens, lengths, weights, keys):
        import jax.numpy as jnp

        from . import labelled
        weights, numbers = (None, 0.0) if weights is None else weights  # None: a program that is compiled and not run
        ids, layout, places, _, there = labelled.read(self.model, None, self.newline, tokens, lengths, weights)
        return Examples(ids, layout, places,
                        lambda: (jnp.broadcast_to(numbers, there.shape), there.astype(jnp.float32)))

    def loss(self, params, positions, examples, hidden, penalties):
        """The sum of the squared errors of the documents."""
        import jax.numpy as jnp

        from ..model import model
        from .labelled import outputs
        states, head = model.readout(params, self.model, hidden)
        targets, weights = examples.answers()
        return jnp.sum(weights * (outputs(states, head) - targets) ** 2), weights

    def answers(self, params, labels, hidden, targets, weights):
        """Returns THERE, LABEL and ANSWER of each document, which are numbers in standard units."""
        import jax.numpy as jnp

        from ..model import model
        from .labelled import outputs
        return jnp.stack([weights, targets, outputs(*model.readout(params, self.model, hidden))], axis=-1)

    def collected(self, labels):
        from .answers import Guesses
        return Guesses(labels)

    def baseline(self, train_rows, train_count, eval_rows, count):
        from .number_scores import mean
        return mean(train_rows.labels, eval_rows, count)

    def predicted(self, params, labels, ids, ends):
        """Returns the number of each document, [R, 1]."""
        from ..model import model
        from .labelled import hidden_at, outputs
        return outputs(*model.readout(params, self.model, hidden_at(params, self.model, ids, ends, 0 * ends)))

    def written(self, found, labels):
        return [f"{one:.6g}" for one, in found]
