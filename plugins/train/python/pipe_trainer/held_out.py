"""Evaluation on the validation split, beside what counting reaches on the same rows."""

import json

import jax

from . import baselines, evaluate, feed, sharding, step
from .atomic import write_text


class HeldOut:
    def __init__(self, setup, events):
        self.setup, self.events = setup, events
        config, mesh = setup.config, setup.mesh
        self.rows, self.size = setup.eval_rows, config.eval.batch
        self.limit = min(config.eval.rows or self.rows.count, self.rows.count)
        row = sharding.of_batch(mesh)
        # Parameters come as training left them.
        self._nats = jax.jit(step.make_eval_step(config, setup.attend, setup.compute, setup.positions),
                             in_shardings=(None, row, row), out_shardings=sharding.copies(mesh))

    def score(self, params):
        """evaluate.score over the rows of the split, the same on any mesh up to rounding."""
        sums, parts = evaluate.Sums(), []
        for tokens, lengths, batch in feed.in_order(self.rows, self.setup.mesh, self.size, self.limit):
            parts.append((batch, self._nats(params, tokens, lengths)))
        for batch, nats in parts:
            sums.add(batch, jax.device_get(nats), self.rows.tokenizer["unk_id"])
        return evaluate.score(sums)

    def __call__(self, number, params):
        scores = self.score(params)
        self.events.emit("eval", split=self.setup.job.data["validation"], **scores)
        return scores

    def baselines(self, path):
        """Counted once for a run: the rows of a run do not change."""
        key = {"data": self.setup.rows.digest, "rows": self.limit}
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            kept = {}
        if kept.get("key") != key:
            found = baselines.compute(self.setup.rows, self.rows, self.setup.rows.tokenizer["vocab_size"],
                                      eval_count=self.limit)
            kept = {"key": key, "baselines": found}
            write_text(path, json.dumps(kept))
        for baseline in kept["baselines"]:
            self.events.emit("baseline", **baseline)
        return kept["baselines"]
