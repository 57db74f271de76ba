"""How many rows an evaluation scores: by its cost, by the targets that it needs, as the training did before."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import places  # noqa: F401
import session

import jax
import numpy as np

from pipe_trainer.config import Config, Eval
from pipe_trainer.data import labels
from pipe_trainer.eval import portion
from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.optim import step
from pipe_trainer.run import run
from pipe_trainer.run.setup import prepare
from pipe_trainer.run.signals import Stop

import packed_rows
from continued import Runs, without_members

ENCODER = {"model": {"family": "bert", "layers": 1, "d": 16, "heads": 2, "kv_heads": None, "ff": 32},
           "objective": {"name": "masked", "mask_id": 60}}


def scored(rows, steps=1000, eval_every=500, train=None, **config):
    """Returns (the number of scored rows, the setup)."""
    with tempfile.TemporaryDirectory() as place:
        setup = prepare(session.small_job(place, config, steps=steps, eval_every=eval_every), train or rows, rows)
        return portion.rows_of(setup), setup


class Portion(unittest.TestCase):
    def test_evaluations_take_a_fiftieth_of_the_training(self):
        rows = session.random_rows(3000, 32)
        self.assertEqual(scored(rows, 10_000, 2500)[0], 800)  # 4 % of 2,500 steps of 8 rows, each half a row of a step
        self.assertEqual(scored(rows, 10_000, 0)[0], 3000)    # one evaluation, of a split that is cheap enough
        self.assertEqual(scored(rows, 2000, 2500)[0], 640)
        self.assertEqual(scored(session.random_rows(9000, 32), 14_000, 10_000)[0], 2240)  # the last one comes early
        one_epoch = scored(session.random_rows(3000, 32), 10_000, 2500, session.random_rows(16_000, 32),
                           eval={"each_epoch": True})
        self.assertEqual(one_epoch[0], 355)  # four evaluations by their steps, five by epochs

    def test_ten_thousand_targets_are_scored_where_the_split_has_them(self):
        rows = session.random_rows(3000, 32)
        self.assertEqual(scored(rows, 10, 5)[0], 344)
        self.assertEqual(scored(session.random_rows(50, 32), 10, 5)[0], 50)
        short = session.MemoryRows(rows.tokens, np.full(3000, 5))
        self.assertEqual(scored(short, 10, 5)[0], 2750)

    def test_of_a_masked_model_ten_thousand_hidden_ids_are_scored(self):
        for share in (0.15, 0.4):
            rows = session.random_rows(4000, 32)
            count, setup = scored(rows, 10, 5, **{**ENCODER, "objective": {**ENCODER["objective"], "share": share}})
            self.assertLess(count, 4000)
            params = step.new_state(setup.config, jax.random.key(0))["params"]
            scores = HeldOut(setup, session.Recorder()).score(params, lambda: False)
            self.assertGreaterEqual(scores["targets"], portion.LEAST)
            self.assertLess(scores["targets"], 1.3 * portion.LEAST)

    def test_what_the_job_says_counts(self):
        rows = session.random_rows(3000, 32)
        for asked, count in ((0, 3000), (7, 7), (5000, 3000)):
            self.assertEqual(scored(rows, eval={"rows": asked})[0], count)
        self.assertIsNone(Config(eval=Eval()).eval.rows)

    def test_a_split_with_labels_is_scored_whole(self):
        rows = session.random_rows(3000, 32)
        rows.labels = labels.parse([{"name": "no", "ids": [7]}, {"name": "yes", "ids": [8]}])
        self.assertEqual(scored(rows)[0], 3000)


class Begun(Runs):
    def test_a_training_keeps_its_rows(self):
        first = self.train().continuation.eval_rows
        with mock.patch.object(portion, "rows_of", lambda setup: 40):
            self.assertEqual(self.train(steps=20).continuation.eval_rows, first)
            self.assertEqual(self.train("other").continuation.eval_rows, 40)
            asked = {"schedule": {"name": "wsd", "warmup": 0, "decay": 0.4}, "eval": {"rows": 40}}
            self.assertEqual(self.train(steps=30, config=asked).continuation.eval_rows, 40)

    def test_one_of_an_earlier_version_scores_all(self):
        config = {"schedule": {"name": "const", "warmup": 0}}
        self.train(config=config)
        without_members(Path(self.place) / "run", "eval_rows")
        self.assertEqual(self.train(steps=20, config=config).continuation.eval_rows, 0)

    def test_a_whole_run_scores_as_many_rows_as_it_began_with(self):
        place, make = Path(self.place), np.random.default_rng(0)
        rows = [([2, *make.integers(5, 30, 16).tolist()], 17, 48, 16) for _ in range(40)]
        packed_rows.write_packed(place / "packed", {"train": [rows], "validation": [rows[:20]]}, 16, 30)

        def scores(steps):
            told = session.Recorder()
            told.listen = lambda listener: None
            run.run(session.small_job(place / "whole", {"model": {"layers": 1}}, steps=steps, eval_every=2, seed=0,
                                      data={"dir": str(place / "packed"), "train": "train", "validation": "validation"}),
                    told, Stop())
            return [event["eval_rows"] for event in told.of("plan")], {event["targets"] for event in told.of("eval")}
        with mock.patch.object(portion, "rows_of", lambda setup: 3):
            self.assertEqual(scores(2), ([3], {48}))
        self.assertEqual(scores(4), ([3], {48}))
        without_members(place / "whole", "eval_rows")
        self.assertEqual(scores(6), ([20], {320}))


if __name__ == "__main__":
    unittest.main()
