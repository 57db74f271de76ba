"""Rows with loss weights are measured on their scored targets alone: evaluation, baselines, the events and the page of
a run."""

import math
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import session

import jax
import numpy as np

import packed_rows
import runs
from pipe_trainer import exits
from pipe_trainer.config import Model
from pipe_trainer.data.rows import Rows
from pipe_trainer.eval import baselines, evaluate, tally
from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.export import model_card
from pipe_trainer.model import model
from pipe_trainer.run.setup import prepare

SEQ_LEN, VOCAB = 16, 30


def weighted(count, seed, scored=0.3, empty=()):
    """Random rows with random weights; those in `empty` have no scored target. The last one is padded."""
    make = np.random.default_rng(seed)
    for number in range(count):
        length = 9 if number == count - 1 else SEQ_LEN + 1
        ids = [2, *make.integers(5, 12, length - 1).tolist()] + [0] * (SEQ_LEN + 1 - length)
        weights = (make.random(SEQ_LEN + 1) < scored) & (0 < np.arange(SEQ_LEN + 1)) & (np.arange(SEQ_LEN + 1) < length)
        weights = [0] * (SEQ_LEN + 1) if number in empty else weights.astype(int).tolist()
        yield ids, length, 3 * sum(weights), sum(weights), weights


def pairs(rows):
    return [(before, after) for ids, _, _, _, weights in rows
            for before, after, weight in zip(ids, ids[1:], weights[1:]) if weight]


class Scored(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.train, self.held_out = list(weighted(50, 1)), list(weighted(21, 2, empty=range(8)))
        packed_rows.write_packed(self.place / "packed", {"train": [self.train], "validation": [self.held_out]}, SEQ_LEN,
                                 VOCAB, weights=True)
        self.rows = [Rows(self.place / "packed", split, native=False) for split in ("train", "validation")]

    def test_an_evaluation_is_the_mean_over_scored_targets(self):
        setup = prepare(session.small_job(self.place / "run", {"model": {"layers": 1}}), *self.rows)
        params = model.init(setup.config.model, jax.random.key(0))
        scores = HeldOut(setup, session.Recorder()).score(params, lambda: False)  # 8, 8 and 5 rows
        ids, wanted = (np.array([row[at] for row in self.held_out]) for at in (0, 4))
        logits = model.logits(params, setup.config.model, model.forward(params, setup.config.model, ids[:, :-1]))
        chances = np.asarray(jax.nn.log_softmax(logits[..., :VOCAB]))
        nats = -np.take_along_axis(chances, ids[:, 1:, None], axis=-1)[..., 0]
        self.assertAlmostEqual(scores["loss"], nats[wanted[:, 1:] == 1].mean(), places=4)
        counted = wanted.sum()
        self.assertEqual([scores[name] for name in ("targets", "bytes", "chars")], [counted, 3 * counted, counted])
        self.assertAlmostEqual(scores["bits_per_char"], scores["loss"] / math.log(2), places=12)

    def test_baselines_count_and_predict_scored_targets(self):
        found = {scores["name"]: scores for scores in baselines.compute(*self.rows, VOCAB)}
        train, held_out = pairs(self.train), pairs(self.held_out)
        times = Counter(after for _, after in train)
        expected = -sum(math.log((times[after] + 1) / (len(train) + VOCAB)) for _, after in held_out) / len(held_out)
        self.assertAlmostEqual(found["unigram"]["nats_per_token"], expected, places=10)
        codes, each = np.unique([before * VOCAB + after for before, after in train], return_counts=True)
        chances = baselines.Counts(codes, each, VOCAB).bigram(*np.array(held_out).T)
        self.assertAlmostEqual(found["bigram_kn"]["nats_per_token"], -np.log(chances).mean(), places=10)
        for scores in found.values():
            self.assertEqual((scores["targets"], scores["chars"]), (len(held_out),) * 2)
            self.assertEqual((scores["train_targets"], scores["train_targets_of"]), (len(train),) * 2)

    def test_parts_without_a_scored_target_are_counted_in_both_ways(self):
        parts = [np.empty(0, np.int64), np.array([3, 4, 3]), np.empty(0, np.int64)]
        for kind in (tally._Table(VOCAB), tally._Sorted()):
            for part in parts:
                kind.add(part)
            self.assertEqual([found.tolist() for found in kind.pairs()], [[3, 4], [2, 1]])

    def test_unknown_ids_count_at_scored_targets_alone(self):
        batch = self.rows[0].in_order(0, 1)
        batch.tokens[0, 1:] = 3
        sums = evaluate.Sums()
        sums.add(batch, 1.0, unk_id=3)
        self.assertEqual((sums.targets, sums.unknown), (sum(self.train[0][4]),) * 2)

    def test_first_rows_without_a_scored_target_are_refused(self):
        job = session.small_job(self.place / "run", {"eval": {"rows": 8}, "model": {"layers": 1}})
        setup = prepare(job, *self.rows)
        held_out = HeldOut(setup, session.Recorder())
        params = model.init(setup.config.model, jax.random.key(0))
        for call in (lambda: held_out.baselines(self.place / "baselines.json"),
                     lambda: held_out.score(params, lambda: False)):
            with self.assertRaises(exits.BadJob) as raised:
                call()
            self.assertIn("config.eval.rows: the first 8 rows", str(raised.exception))

    def test_a_whole_run_tells_its_scored_targets(self):
        run = runs.Run(self.place / "whole", self.place / "packed", steps=3, checkpoint_every=3)
        self.addCleanup(run.process.kill)
        self.assertEqual(run.end(), 0, run.log_end())
        result = run.result()
        counted = sum(row[3] for row in self.held_out)
        self.assertEqual({result["final"]["targets"], *(scores["targets"] for scores in result["baselines"].values())},
                         {counted})
        self.assertEqual(result["baselines"]["unigram"]["train_targets_of"], len(pairs(self.train)))
        self.assertTrue(all(math.isfinite(loss) for loss in run.losses().values()))

    def test_the_page_of_an_export_tells_that_weights_were_used(self):
        scores = evaluate.score(evaluate.Sums(10.0, 5, 13, 5, 0))
        config = Model(layers=1, vocab=VOCAB, seq_len=SEQ_LEN).complete()
        pages = [model_card.text(config, {}, {"evaluation": scores, **more}) for more in ({}, {"weights": True})]
        self.assertNotIn("weight 1", pages[0])
        self.assertIn("only targets of weight 1 were trained on", pages[1])


if __name__ == "__main__":
    unittest.main()
