"""The answers of a model about labelled documents, collected over an evaluation."""

from typing import NamedTuple

import numpy as np

from ..data.labels import WORST
from . import label_scores, number_scores
from .labelled import ANSWER, LABEL, NATS, THERE


class Wrong(NamedTuple):
    badness: float  # nats of the label, or the size of the error
    row: int        # of the split
    place: int      # of the document among those of its row
    label: float    # a number, or that of a class
    answer: float


class Answers:
    """With classes. `worst`: the WORST answers, worst first."""

    def __init__(self, labels):
        self._labels = labels
        self.confusion = np.zeros((len(labels.names),) * 2, np.int64)
        self.worst = []

    def add(self, found, first):
        """`found`: float32 [R, K, n] of Objective.answers; `first`: the number of the first row."""
        there = found[..., THERE] > 0
        given, answered = found[there][:, LABEL].astype(int), found[there][:, ANSWER].astype(int)
        np.add.at(self.confusion, (given, answered), 1)
        self._keep(there, first, found[there][:, NATS], given, answered)

    def _keep(self, there, first, badness, given, answered):
        rows, places = np.nonzero(there)
        some = [Wrong(float(badness[one]), first + int(rows[one]), int(places[one]), given[one].item(),
                      answered[one].item()) for one in np.argsort(-badness, kind="stable")[:WORST]]
        self.worst = sorted(self.worst + some, key=lambda one: (-one.badness, one.row, one.place))[:WORST]

    def score(self):
        return {**label_scores.score(self.confusion), "labels": list(self._labels.names)}

    def absent(self):
        """Returns the names of the labels that no document had."""
        return [name for name, count in zip(self._labels.names, self.confusion.sum(axis=1)) if not count]

    def shown(self, rows, text):
        """Returns `worst` for people: text, label, answer, and how bad it is. `text`: of text.Text."""
        found = []
        for one in self.worst:
            document, label = document_of(rows, one.row, one.place, text)
            found.append({"text": document, **self._said(one, label)})
        return found

    def _said(self, one, label):
        names = self._labels.names
        return {"label": names[one.label], "answer": names[one.answer], "nats": round(one.badness, 4)}


class Guesses(Answers):
    """With numbers, which are measured."""

    def __init__(self, numbers):
        super().__init__(numbers)
        self._given, self._answered = [], []

    def add(self, found, first):
        there = found[..., THERE] > 0
        given, answered = (self._labels.deviation * found[there][:, one].astype(np.float64) + self._labels.mean
                           for one in (LABEL, ANSWER))
        self._given.append(given)
        self._answered.append(answered)
        self._keep(there, first, np.abs(answered - given), given, answered)

    def score(self):
        scores = number_scores.score(np.concatenate(self._given), np.concatenate(self._answered))
        return {"ppl": None, **scores}  # the loss has no nats

    def absent(self):
        return []

    def _said(self, one, label):
        label = label.replace(" ", "")  # as the text of a vocab.txt, 4.5 has three words
        return {"label": label, "answer": f"{one.answer:.6g}", "error": float(f"{one.answer - one.label:.6g}")}


def document_of(rows, row, place, text):
    """Returns the texts of a document of a row and of its label."""
    batch = rows.in_order(row, 1)
    ids, weights = batch.tokens[0].tolist(), batch.weights[0].tolist()
    ends = [at for at in range(1, len(ids)) if weights[at] == 1 and weights[at - 1] == 0]
    end = ends[place]
    begin = max(at for at in range(end) if ids[at] == text.begin) + 1 if text.begin in ids[:end] else 0
    behind = ids.index(text.eos, end)
    return text.text_of(ids[begin:end]).removesuffix("\n"), text.text_of(ids[end:behind])
