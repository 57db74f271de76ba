"""Scores of a regression, by the numbers of documents, and those that were answered."""

import math

import numpy as np

from ..data.number_labels import number_of
from ..data.order import batches
from ..data.rows import NothingScored


def score(given, answered):
    """Takes float64 arrays."""
    errors = answered - given
    return {"documents": len(given), "rmse": float(np.sqrt((errors ** 2).mean())), "mae": float(np.abs(errors).mean()),
            "pearson": correlation(given, answered), "spearman": correlation(ranks(given), ranks(answered))}


def correlation(one, other):
    """0 if all of one side are equal."""
    one, other = one - one.mean(), other - other.mean()
    spread = math.sqrt(float(one @ one)) * math.sqrt(float(other @ other))
    return float(one @ other) / spread if spread else 0.0


def ranks(values):
    """Equal values have the mean of their ranks."""
    _, places, times = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[places]


def mean(numbers, rows, count):
    """Returns the scores of answering with the mean of the training documents to those of the first `count` rows."""
    given = np.array([number_of(text, rows) for batch in batches(rows, count)
                      for _, _, text in numbers.of_documents(batch, rows.tokenizer["eos_id"])])
    if not len(given):
        raise NothingScored("nothing was scored: no labels")
    return {"name": "mean", "train_documents": numbers.documents, **score(given, np.full(len(given), numbers.mean))}
