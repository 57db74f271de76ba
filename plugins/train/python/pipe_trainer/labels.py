"""The labels of documents (stages/export/packed/packed.md, "Labels"), and the scores of a classification.

A label is the last line of its document, and the only part with weight 1. Behind the ids that all labels have in common
at their beginning comes the telling id, which differs between any two: it alone decides.
"""

from typing import NamedTuple

import numpy as np

OBJECTIVES = ("causal", "prefix", "classes")  # whose models answer with a label
METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "matthews")  # of `score`; larger is better
WORST = 20          # documents that are shown
MOST_SHOWN = 100    # labels whose confusion is shown


class Labels(NamedTuple):
    names: tuple    # of texts, by number
    ids: tuple      # of tuples: the ids of each name
    common: int     # the number of ids that all names begin with
    telling: tuple  # the telling id of each

    def listed(self):
        """The member `labels` of packed.json and of an export."""
        return [{"name": name, "ids": list(ids)} for name, ids in zip(self.names, self.ids)]


def parse(listed):
    """Returns the Labels of a list of {"name", "ids"}. Raises ValueError if it is no such list, or if two labels have
    no telling id."""
    if not isinstance(listed, list) or len(listed) < 2 or not all(map(is_label, listed)):
        raise ValueError("wants a list of two labels or more, each with a name and its ids")
    names, ids = tuple(one["name"] for one in listed), tuple(tuple(one["ids"]) for one in listed)
    common = 0
    while all(len(one) > common for one in ids) and len({one[common] for one in ids}) == 1:
        common += 1
    telling = tuple(one[common] for one in ids if len(one) > common)
    if len(set(telling)) != len(ids) or len(set(names)) != len(names):
        raise ValueError("two labels have no id that tells them apart behind their common beginning")
    return Labels(names, ids, common, telling)


def most(length):
    """Returns the number of labelled documents that `length` ids can hold: each has a label and an end."""
    return max(length // 2, 1)


def of_shape(number):
    """Labels for a program that is compiled and not run."""
    return Labels(tuple(map(str, range(number))), tuple((one,) for one in range(number)), 0, tuple(range(number)))


def is_label(one):
    ids = one.get("ids") if isinstance(one, dict) else None
    return (isinstance(ids, list) and len(ids) > 0 and isinstance(one.get("name"), str)
            and all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in ids))


def numbers_of(labels, batch, eos):
    """Returns the number of the label of each labelled document of a batch of rows, in their order."""
    targets = batch.tokens[:, 1:]
    scored = (batch.weights[:, 1:] == 1) & (targets != eos)
    begins = scored & ~np.pad(scored[:, :-1], ((0, 0), (1, 0)))
    rows, places = np.nonzero(begins)
    ids = targets[rows, np.minimum(places + labels.common, targets.shape[1] - 1)]
    match = ids[:, None] == np.array(labels.telling)
    return match.argmax(axis=1)[match.any(axis=1)]


def score(confusion):
    """Scores from the numbers of documents [label, answer]. A label without a document and without an answer has no
    part in the means; `f1` of it is None. `confusion`: None if there are too many labels."""
    right, of_label, answered = np.diagonal(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    documents = int(confusion.sum())
    there, called = of_label > 0, of_label + answered > 0
    f1 = 2 * right[called] / (of_label + answered)[called]
    by_chance = float(of_label @ answered)
    spread = (documents ** 2 - float(of_label @ of_label)) * (documents ** 2 - float(answered @ answered))
    all_f1 = iter(f1.tolist())
    return {
        "documents": documents,
        "accuracy": float(right.sum()) / documents,
        "balanced_accuracy": float((right[there] / of_label[there]).mean()),
        "macro_f1": float(f1.mean()),
        "matthews": (documents * float(right.sum()) - by_chance) / spread ** 0.5 if spread > 0 else 0.0,
        "f1": [next(all_f1) if one else None for one in called.tolist()],
        "confusion": confusion.tolist() if len(confusion) <= MOST_SHOWN else None,
    }


def majority(counts, confusion):
    """The baseline that answers with the most frequent label. `counts`: documents of the training by label;
    `confusion`: any confusion of the documents that are evaluated."""
    of_label = confusion.sum(axis=1)
    called = np.zeros_like(confusion)
    called[:, int(counts.argmax())] = of_label
    shares = (counts + 1) / (counts.sum() + len(counts))
    nats = float(-(of_label * np.log(shares)).sum() / of_label.sum())
    return {"name": "majority", "nats_per_document": nats, "train_documents": int(counts.sum()), **score(called)}
