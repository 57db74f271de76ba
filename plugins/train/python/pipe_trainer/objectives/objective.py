"""An objective: everything that it decides about a model and its run.

A job is checked before JAX is imported. So modules of objectives import JAX, and what needs it, inside the methods that
devices run.
"""

from typing import Any, NamedTuple

from ..data.labels import CLASSES, NUMBERS


class Examples(NamedTuple):
    """The part of rows that a model reads, and the part that it predicts; arrays of the devices."""
    ids: Any            # [R, T], that the model reads
    layout: Any         # their segments and positions [R, T], and types if it has such; None: the ids tell them
    places: Any         # [R, K]: positions whose hidden states predict; None: all, K = T
    answers: Any        # gives (targets [R, K], weights float32 [R, K]: 1 for a scored target, else 0)
    given: Any = None   # ids and segments [R, K] of a decoder
    judged: Any = None  # as `answers`, for an evaluation, where it scores fewer targets; None: it does not
    more: Any = None    # what the loss of the objective alone reads


class Answering(NamedTuple):
    """How models answer about labelled documents: the scores of their answers, in words for people."""
    kind: str        # the kind of labels
    each: str        # the label of a document
    metrics: dict    # name: words
    falling: tuple   # the metrics of which a smaller one is better
    logged: tuple    # the metrics that the log has
    unit: str        # the unit of the loss
    in_nats: bool    # whether the loss has nats
    digits: str      # the format of a metric
    worst: tuple     # the heading of the worst answers, the name of their badness, its format
    instead: str     # the refusal of labels of another kind, {labels}


BY_CLASS = Answering(
    CLASSES, "a label",
    {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "macro_f1": "macro F1",
     "matthews": "Matthews correlation"}, (), ("accuracy", "macro_f1", "matthews"), "nats/label", True, "8.4f",
    ("the documents whose label was least likely: nats, label, answer, text", "nats", "8.2f"),
    "learns labels that are classes, and those of the rows are {labels}; take regression, which a model of family bert "
    "learns")
BY_NUMBER = Answering(
    NUMBERS, "a number",
    {"rmse": "root mean square error", "mae": "mean absolute error", "pearson": "Pearson correlation",
     "spearman": "Spearman correlation"}, ("rmse", "mae"), ("rmse", "pearson"), "squared error", False, "10.6g",
    ("the documents with the greatest errors: error, number, answer, text", "error", "10.6g"),
    "learns numbers, and the labels of the rows are the classes {labels}; take classes, or give write_packed `labels: "
    "numbers`")

USE = """    from transformers import {auto}, AutoTokenizer
    tokenizer, model = AutoTokenizer.from_pretrained("."), {auto}.from_pretrained(".")
    ids = tokenizer("...", return_tensors="pt")
    print(tokenizer.decode(model.generate(**ids, max_new_tokens=64)[0]))
"""
USE_PIPELINE = """    from transformers import pipeline
    print(pipeline("{task}", ".", tokenizer="."{more})("..."))
"""


class Objective:
    """`config`: complete where devices are asked. `rows`: for labels; None: the program is compiled and not run.
    `pieces`: those of the tokenizer, if `needs_pieces`. Each objective also has `places`, the number of places of a row
    that predict, and `scored(batch, keys)`, the number of scored targets of micro-batches, which weights may make 0."""
    name = ""
    families = ()       # those that learn it
    answering = None    # how its models answer about labelled documents; None: they do not
    head = False        # it has a head over labels in place of that over ids
    on_device = False   # only the devices know which targets are scored
    sentence_pairs = False  # it learns those of write_bert, and no packed rows
    beside = ()         # names of its scores beside the loss: `scores_beside`
    scored_share = 1.0  # of the targets of `of_ids`, which an evaluation scores; a mean
    needs_pieces = False
    # For the model card: the task of transformers, the beginning of the first sentence, the use, more about the use.
    task = said = use = behind_use = ""

    def __init__(self, config, rows=None, pieces=()):
        self.config, self.options, self.model = config, config.objective, config.model
        self.rows, self.pieces = rows, pieces

    # What a config may say.

    @staticmethod
    def mistakes_of_keys(options):
        """Yields disagreements between the keys of config.objective that the objective reads."""
        return ()

    @staticmethod
    def most_ids(options, vocab):
        """Returns {key: the greatest id that it may name} of the keys of config.objective that name ids."""
        return {}

    @staticmethod
    def takes_classes(number):
        """Returns whether config.model.classes may be this number."""
        return False

    def mistakes(self):
        """Yields disagreements with other sections of the config."""
        return ()

    def completed(self, vocab, labels=None, start=0):
        """Returns (the config with every number of the objective, the ids that its model needs). `vocab`: the ids of
        the tokenizer; `start`: the first input of a decoder; `labels`: of the rows."""
        return self.config, vocab

    def mistake_of_kind(self, rows):
        """Returns that the rows are no pairs of sentences, and the objective learns such, or the other way round; or
        None."""
        if self.sentence_pairs == (rows.predictions is not None):
            return None
        kinds = ("packed rows", "pairs of sentences")
        learned, given = kinds if not self.sentence_pairs else reversed(kinds)
        return f"{self.name} learns {learned}, and these are {given}"

    def mistakes_of_rows(self, rows):
        """Yields that the config is about labels, and the rows about none or about others."""
        if wrong := self.mistake_of_kind(rows):
            yield (f"config.objective.name: {wrong}; name a stage "
                   f"{'write_bert' if self.sentence_pairs else 'write_packed'} at `data`, or take another objective")
        labels, metric = rows.labels, self.config.eval.metric
        for key, value, wants in (("objective.name", self.name, self.head), ("eval.metric", metric, metric != "loss")):
            if wants and labels is None:
                yield (f"config.{key}: {value} is about labels, and the rows have none; give write_packed the key "
                       f"`labels`")
        if labels is None:
            return
        if self.answering and labels.kind != self.answering.kind:
            yield f"config.objective.name: {self.name} {self.answering.instead.format(labels=labels.words)}"
        number = self.model.classes
        if number is not None and labels.kind == CLASSES and number != len(labels.names):
            yield f"config.model.classes: {number}, and the rows have {len(labels.names)} labels; leave it out"

    # What devices compute.

    def measure(self, rows, eval_rows):
        """Prepares the labels of rows."""

    def weigh(self, batch):
        """Returns what `examples` takes as the weights of a batch of rows."""
        return batch.weights

    def examples(self, tokens, lengths, weights, keys):
        """Returns the Examples of rows: tokens [R, T + 1], lengths [R], weights [R, T + 1] or None, a key for each row
        or None. The weights of the Examples are the mask of the loss."""
        raise NotImplementedError

    def keys_of(self, tokens, lengths):
        """Returns the keys of rows in an evaluation."""

    def in_step(self, batch, total):
        """Returns a batch [M, R, …] with what its loss needs to know of the whole step, which has `total` scored
        targets."""
        return batch

    def loss(self, params, positions, examples, hidden, penalties):
        """Returns (the loss that is summed over scored targets, the weights of the targets)."""
        from ..model import model
        from . import loss
        states, head = model.readout(params, self.model, hidden)
        targets, weights = examples.answers()
        return loss.cross_entropy(model.over_labels(self.model), positions, penalties, head, states, targets,
                                  weights), weights

    # Evaluations and answers.

    def sums_beside(self, params, examples, hidden):
        """Returns numbers that evaluations add up over batches, for `scores_beside`."""
        return []

    @staticmethod
    def said_beside(scores):
        """Returns what a model card says in place of the words about the baselines of hidden ids; empty: nothing."""
        return ""

    def scores_beside(self, sums):
        """Returns {name: score} of `beside`. `sums`: of sums_beside, over all batches."""
        return {}

    def answered(self, labels):
        """Returns these labels of rows if its models answer with such; else None."""
        return labels if labels is not None and self.answering and labels.kind == self.answering.kind else None

    def answers(self, params, labels, hidden, targets, weights):
        """Returns the array of answers for each labelled document, float32 [R, K, n]. `hidden` [R, N, d]: the states
        that predict `targets`."""
        from . import labelled
        return labelled.answers(params, self.model, labels, hidden, targets, weights)

    def collected(self, labels):
        """Returns an empty collection of such answers."""
        from .answers import Answers
        return Answers(labels)

    def baseline(self, train_rows, train_count, eval_rows, count):
        """Returns the scores of answers without a model to the first `count` rows, from the first rows of the
        training."""
        from .label_scores import majority_of
        return majority_of(train_rows, train_count, eval_rows, count)

    def of_ids(self, rows):
        """Returns the rows whose targets the baselines by counting of ids score; None: there are none."""
        return rows

    def label_begins(self, labels, newline):
        """Returns the ids between a document and the part of its label that tells it from others."""
        return ([newline] if newline >= 0 else []) + list(labels.ids[0][:labels.common])

    def predicted(self, params, labels, ids, ends):
        """Returns [R, C], the share of each label, behind the ids [R, T] of documents, of which `ends` [R] are
        there."""
        from . import labelled
        return labelled.shares(params, self.model, labels, ids, ends, ends - 1)

    def written(self, found, labels):
        """Returns the lines for people about what was predicted, of numpy."""
        return [f"{labels.names[one.argmax()]}\t{one.max():.4f}" for one in found]

    # The export.

    def marks(self):
        """Returns the ids beside those of text, with their names, in the order of the ids."""
        return []


class Drawn(Objective):
    """An objective that draws the ids that a model predicts. Only the devices know which they are."""
    on_device = True

    @property
    def scored_share(self):
        return self.options.share

    def scored(self, batch, keys):
        import jax
        import jax.numpy as jnp

        def one(part):
            piece, keys = part
            return jnp.sum(self.examples(*piece, keys).answers()[1])
        if len(keys) == 1:  # not in a loop: the compiler sees that the step draws the same ids
            return one(jax.tree.map(lambda part: part[0], (batch, keys)))
        return jnp.sum(jax.lax.map(one, (batch, keys)))

    def keys_of(self, tokens, lengths):
        from .hiding import row_keys_of
        return row_keys_of(tokens, lengths)

    def of_ids(self, rows):
        from .hiding import Hideable
        return Hideable(rows, self.model)
