"""Evaluates on the validation split, and computes the baselines on the same rows."""

import jax
import numpy as np

from ..atomic import read_json, write_json
from ..data import feed
from ..data.rows import NothingScored
from ..exits import BadJob
from ..model import sharding
from ..optim import step
from . import baselines, evaluate, portion, tally


class HeldOut:
    """Scores the first `limit` rows of the split."""

    def __init__(self, setup, events):
        self.setup, self.events = setup, events
        config, mesh = setup.config, setup.mesh
        self.rows, self.size = setup.eval_rows, config.eval.batch
        self.limit = portion.rows_of(setup)
        self.labels = setup.objective.answered(setup.rows.labels)
        self.answers = None  # of the last evaluation, about labels
        row = sharding.of_batch(mesh)
        # Parameters keep the sharding of training.
        self._nats = jax.jit(step.make_eval_step(config, setup.attend, setup.compute, setup.positions,
                                                 setup.objective, self.labels),
                             in_shardings=(None, row, row, row), out_shardings=sharding.copies(mesh))

    def keep_rows(self, rows):
        """Scores as many rows as the training did so far; 0: all."""
        self.limit = portion.bounded(rows, self.rows)

    def score(self, params, asked):
        """Returns evaluate.score over the rows of the split, with the scores of the answers if they have labels; None
        once `asked()` to stop."""
        sums, running, first = evaluate.Sums(), None, 0
        answers = None if self.labels is None else self.setup.objective.collected(self.labels)
        for placed, batch in feed.in_order(self.rows, self.setup.mesh, self.size, self.limit,
                                           self.setup.objective.weigh):
            if asked():
                return None
            with jax.set_mesh(self.setup.mesh):
                ahead = batch, self._nats(params, *placed), first
            first += len(batch.lengths)
            self._add(sums, answers, running)
            running = ahead
        self._add(sums, answers, running)
        scores = self._checked(evaluate.score, sums)
        scores |= self.setup.objective.scores_beside(sums.beside)
        if answers is None:
            return scores
        self._tell_absent(answers)
        return {**scores, **answers.score()}

    def _tell_absent(self, answers):
        if self.answers is None and answers.absent():
            self.events.emit("warn", text=f"the split that is evaluated has no document of the label "
                                          f"{', '.join(answers.absent())}: the scores are those of the others")
        self.answers = answers

    def mistakes(self, text):
        """Returns the documents of the last evaluation with the least likely labels, or with the greatest errors."""
        return self.answers.shown(self.rows, text) if self.answers else []

    def share_of(self, ids):
        """Returns the share of these ids among all ids of the scored rows; None if `ids` is empty."""
        found = count = 0
        for first in range(0, self.limit if len(ids) else 0, self.size):
            batch = self.rows.in_order(first, min(self.size, self.limit - first))
            read = np.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
            found, count = found + int(np.isin(batch.tokens, ids)[read].sum()), count + int(read.sum())
        return found / count if count else None

    def _add(self, sums, answers, part):
        if part is not None:
            batch, (nats, first) = part[0], (jax.device_get(part[1]), part[2])
            if answers is not None:
                nats, found = nats
                answers.add(found, first)
            if self.setup.objective.on_device:
                sums.add_hidden(*nats)
            else:
                sums.add(batch, nats, self.rows.tokenizer["unk_id"])

    def _checked(self, function, *arguments, **more):
        """Calls a function that needs a scored target. A split always has one, its first rows may have none."""
        try:
            return function(*arguments, **more)
        except NothingScored:
            raise BadJob([f"config.eval.rows: the first {self.limit} rows of the split that is evaluated have no "
                          f"scored target; take more, or 0 for all"]) from None

    def baselines(self, path):
        """Counts the baselines once for a run, whose rows do not change, and keeps them in `path`."""
        key = {"data": self.setup.rows.digest, "rows": self.limit, "counted": tally.bounds()}
        kept = read_json(path) or {}
        if kept.get("key") != key:
            found = self._of_ids()
            if self.labels is not None:
                most = min(self.setup.rows.count, max(tally.IN_TABLE // self.setup.rows.seq_len, 1))
                found.append(self._checked(self.setup.objective.baseline, self.setup.rows, most, self.rows, self.limit))
            kept = {"key": key, "baselines": found}
            write_json(path, kept)
        for baseline in kept["baselines"]:
            self.events.emit("baseline", **baseline)
        return kept["baselines"]

    def _of_ids(self):
        train, scored = (self.setup.objective.of_ids(rows) for rows in (self.setup.rows, self.rows))
        if train is None:
            return []
        return self._checked(baselines.compute, train, scored, self.setup.rows.tokenizer["vocab_size"],
                             eval_count=self.limit)
