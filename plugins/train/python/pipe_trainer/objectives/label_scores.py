"""Scores of a classification, by the numbers of documents with each label and answer."""

import numpy as np

from ..data.order import batches
from ..data.rows import NothingScored

MOST_SHOWN = 100  # labels whose confusion is shown


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


def majority_of(train_rows, train_count, eval_rows, count):
    """Returns the majority of the first rows of the training, for the first rows that are evaluated."""
    def counts(rows, count):
        found = np.concatenate([numbers_of(train_rows.labels, batch, train_rows.tokenizer["eos_id"])
                                for batch in batches(rows, count)])
        if not len(found):
            raise NothingScored("nothing was scored: no labels")
        return np.bincount(found, minlength=len(train_rows.labels.names))
    return majority(counts(train_rows, train_count), np.diag(counts(eval_rows, count)))
