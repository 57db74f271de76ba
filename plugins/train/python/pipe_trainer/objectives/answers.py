"""The answers of a model about labelled documents, collected over an evaluation."""

from typing import NamedTuple

import numpy as np

from ..data import labels, number_labels
from . import label_scores, regression
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
        return {**label_scores.score(self.confusion), "labels": list(self._labels.names)}

    def absent(self):
        """Returns the names of the labels that no document had."""
        return [name for name, count in zip(self._labels.names, self.confusion.sum(axis=1)) if not count]


class Guess(NamedTuple):
    error: float  # the answer less the number
    row: int
    place: int
    answer: float


class Guesses:
    """The same for labels that are numbers: `numbers` is measured."""

    def __init__(self, numbers):
        self._numbers = numbers
        self._given, self._answered = [], []
        self.worst = []  # the labels.WORST guesses with the greatest errors, worst first

    def add(self, found, first):
        """`found`: float32 [R, K, 3] of regression.answers; `first`: the number of the first row."""
        there = found[..., regression.THERE] > 0
        rows, places = np.nonzero(there)
        given, answered = (self._numbers.deviation * found[there][:, one].astype(np.float64) + self._numbers.mean
                           for one in (regression.LABEL, regression.ANSWER))
        self._given.append(given)
        self._answered.append(answered)
        errors = answered - given
        order = np.argsort(-np.abs(errors), kind="stable")[:labels.WORST]
        some = [Guess(float(errors[one]), first + int(rows[one]), int(places[one]), float(answered[one]))
                for one in order]
        self.worst = sorted(self.worst + some, key=lambda one: (-abs(one.error), one.row, one.place))[:labels.WORST]

    def score(self):
        return number_labels.score(np.concatenate(self._given), np.concatenate(self._answered))

    def absent(self):
        return []


def collected(named):
    """Returns an empty collection for labels of rows."""
    return Guesses(named) if isinstance(named, number_labels.Numbers) else Answers(named)


def shown(worst, rows, text):
    """Returns `worst` for people: text, label, answer, nats or error. `text`: of text.Text."""
    found = []
    for one in worst:
        document, label = document_of(rows, one.row, one.place, text)
        if isinstance(one, Guess):
            said = {"label": label, "answer": f"{one.answer:.6g}", "error": round_to_digits(one.error)}
        else:
            names = rows.labels.names
            said = {"label": names[one.label], "answer": names[one.answer], "nats": round(one.nats, 4)}
        found.append({"text": document, **said})
    return found


def round_to_digits(number):
    return float(f"{number:.6g}")


def document_of(rows, row, place, text):
    """Returns the texts of a document of a row and of its label."""
    batch = rows.in_order(row, 1)
    ids, weights = batch.tokens[0].tolist(), batch.weights[0].tolist()
    ends = [at for at in range(1, len(ids)) if weights[at] == 1 and weights[at - 1] == 0]
    end = ends[place]
    begin = max(at for at in range(end) if ids[at] == text.eos) + 1 if text.eos in ids[:end] else 0
    behind = ids.index(text.eos, end)
    return text.text_of(ids[begin:end]).removesuffix("\n"), text.text_of(ids[end:behind])
