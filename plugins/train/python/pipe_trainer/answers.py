"""The answers of a model about labelled documents, counted over an evaluation."""

from typing import NamedTuple

import numpy as np

from . import label_scores, labels
from .classes import ANSWER, LABEL, NATS, THERE


class Answer(NamedTuple):
    nats: float  # of the label
    row: int     # of the split
    place: int   # of the document among those of its row
    label: int
    answer: int


class Answers:
    def __init__(self, named):
        self._labels = named
        self.confusion = np.zeros((len(named.names),) * 2, np.int64)
        self.worst = []  # the labels.WORST answers with the most nats, worst first

    def add(self, found, first):
        """`found`: float32 [R, K, 4] of classes.answers; `first`: the number of the first row."""
        there = found[..., THERE] > 0
        rows, places = np.nonzero(there)
        given, answered = found[there][:, LABEL].astype(int), found[there][:, ANSWER].astype(int)
        np.add.at(self.confusion, (given, answered), 1)
        order = np.argsort(-found[there][:, NATS], kind="stable")[:labels.WORST]
        some = [Answer(float(found[rows[one], places[one], NATS]), first + int(rows[one]), int(places[one]),
                       int(given[one]), int(answered[one])) for one in order]
        self.worst = sorted(self.worst + some, key=lambda one: (-one.nats, one.row, one.place))[:labels.WORST]

    def score(self):
        return label_scores.score(self.confusion)

    def absent(self):
        """Returns the names of the labels that no document had."""
        return [name for name, count in zip(self._labels.names, self.confusion.sum(axis=1)) if not count]


def shown(worst, rows, text):
    """Returns `worst` for people: text, label, answer, nats. `text`: of text.Text."""
    found = []
    for one in worst:
        batch = rows.in_order(one.row, 1)
        ids, weights = batch.tokens[0].tolist(), batch.weights[0].tolist()
        ends = [at for at in range(1, len(ids)) if weights[at] == 1 and weights[at - 1] == 0]
        end = ends[one.place]
        begin = max(at for at in range(end) if ids[at] == text.eos) + 1 if text.eos in ids[:end] else 0
        found.append({"text": text.text_of(ids[begin:end]).removesuffix("\n"), "label": rows.labels.names[one.label],
                      "answer": rows.labels.names[one.answer], "nats": round(one.nats, 4)})
    return found
