"""The number of rows that an evaluation scores where the job does not say it: README.md, "Continuing and stopping"."""

import math

import numpy as np

from ..data.order import batches
from .evaluate import target_mask

SHARE = 0.02    # of the time of the training that evaluations may take
COST = 0.5      # of a scored row, in rows of a step: a forward pass is a third of a step, and its text is counted
LEAST = 10_000  # scored targets, where the split has them: fewer compare two models by chance
MARGIN = 1.1    # of LEAST: of whole words fewer than their share are hidden


def rows_of(setup):
    """Returns how many rows of the split are scored, from its first one on. A split with labels that the model answers
    with is scored as a whole, because its scores are those of a test."""
    split = setup.eval_rows
    if setup.config.eval.rows is not None:
        return bounded(setup.config.eval.rows, split)
    if setup.objective.answered(setup.rows.labels) is not None:
        return split.count
    cheap = int(SHARE / COST * setup.job.steps * setup.config.batch.rows / evaluations(setup))
    return split.count if cheap >= split.count else max(cheap, rows_with_least(setup))


def bounded(asked, split):
    """Returns the rows of the split that a number asks for; 0 asks for all."""
    return min(asked or split.count, split.count)


def evaluations(setup):
    """Returns the number of evaluations of the training, with the last one."""
    steps, rows = setup.job.steps, setup.config.batch.rows
    epochs = steps * rows // setup.rows.count if setup.config.eval.each_epoch else 0
    return math.ceil(steps / (setup.job.eval_every or steps)) + epochs


def rows_with_least(setup):
    """Returns the number of the first rows that have LEAST scored targets; all rows if these have fewer."""
    rows, passed, found = setup.objective.of_ids(setup.eval_rows), 0, 0.0
    wanted = MARGIN * LEAST / setup.objective.scored_share
    for batch in batches(rows, rows.count):
        found_here = found + np.cumsum(target_mask(batch).sum(axis=1))
        enough = np.flatnonzero(found_here >= wanted)
        if len(enough):
            return passed + int(enough[0]) + 1
        passed, found = passed + len(found_here), found_here[-1]
    return rows.count
