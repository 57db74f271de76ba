"""One step: accumulation, transfers, learning rates, and the parameters with weight decay."""

import tempfile
import unittest
from pathlib import Path

import session

import jax
import numpy as np

from pipe_trainer.config import Optimizer, Schedule
from pipe_trainer.model import model
from pipe_trainer.optim import optim
from pipe_trainer.run.loop import Loop


class Step(unittest.TestCase):
    def test_four_micro_batches_are_one_batch(self):
        rows = session.random_rows()
        rows.lengths[::3] = 11  # the micro-batches have different numbers of targets
        with tempfile.TemporaryDirectory() as place:
            one, four = (session.trained(session.small_job(
                Path(place) / str(micro), {"batch": {"micro": micro}}, steps=4), rows) for micro in (1, 4))
        for number, loss in one.events.losses().items():
            self.assertAlmostEqual(four.events.losses()[number] / loss, 1.0, delta=1e-5)
        a, b = session.flat(one.state["params"]), session.flat(four.state["params"])
        self.assertLess(np.linalg.norm(a - b) / np.linalg.norm(a), 1e-3)

    def test_two_runs_are_the_same_bit_for_bit(self):
        with tempfile.TemporaryDirectory() as place:
            runs = [session.trained(session.small_job(Path(place) / str(number), steps=6), session.random_rows())
                    for number in range(2)]
        self.assertEqual(runs[0].events.losses(), runs[1].events.losses())
        for a, b in zip(*(jax.tree.leaves(run.state) for run in runs)):
            np.testing.assert_array_equal(a, b)

    def test_a_seed_is_another_model(self):
        with tempfile.TemporaryDirectory() as place:
            losses = [session.trained(session.small_job(Path(place) / str(seed), steps=1, seed=seed),
                                      session.random_rows()).events.losses()[1] for seed in (0, 1)]
        self.assertNotEqual(*losses)


class Transfers(unittest.TestCase):
    def test_a_step_moves_nothing_that_it_was_not_told_to(self):
        """A Python number among the arguments of a step would be sent to the devices, and waited for, at each step."""
        guarded = []

        class Guarded(Loop):
            def _take(self, batch):
                with jax.transfer_guard("disallow"):
                    super()._take(batch)
                guarded.append("take")

            def _observe(self, report):
                with jax.transfer_guard("disallow"):
                    return super()._observe(report)

        with tempfile.TemporaryDirectory() as place:
            session.trained(session.small_job(place, steps=4), session.random_rows(), loop_type=Guarded)
        self.assertEqual(len(guarded), 4)
        with self.assertRaises(jax.errors.JaxRuntimeError), jax.transfer_guard("disallow"):
            jax.jit(lambda x: x + 1)(np.ones(3))  # shows that the guard works here


class LearningRates(unittest.TestCase):
    def rates(self, steps=100, **schedule):
        return [optim.learning_rate(Optimizer(lr=1.0), Schedule(**schedule), number, steps) for number in range(steps)]

    def near(self, rates, expected):
        for number, rate in expected.items():
            self.assertAlmostEqual(rates[number], rate, places=12, msg=str(number))

    def test_wsd_rises_stays_and_falls(self):
        self.near(self.rates(name="wsd", warmup=10, decay=0.2), {0: 0.1, 9: 1.0, 79: 1.0, 80: 1.0, 90: 0.5, 99: 0.05})
        self.near(self.rates(name="wsd", warmup=0, decay=0.5, final=0.1), {0: 1.0, 50: 1.0, 75: 0.55})

    def test_cosine(self):
        self.near(self.rates(name="cosine", warmup=0, final=0.0), {0: 1.0, 50: 0.5, 25: 0.8535533905932737})

    def test_linear(self):
        self.near(self.rates(name="linear", warmup=0), {0: 1.0, 50: 0.5, 99: 0.01})

    def test_rsqrt(self):
        self.near(self.rates(name="rsqrt", warmup=4), {0: 0.25, 3: 1.0, 15: 0.5, 63: 0.25})

    def test_const(self):
        self.near(self.rates(name="const", warmup=0.1), {0: 0.1, 9: 1.0, 99: 1.0})


class Decay(unittest.TestCase):
    def test_matrices_lose_weight_and_norms_do_not(self):
        for family in ("llama", "lm1b"):
            shape = session.small_job("-", {"model": {"family": family, "kv_heads": 4, "tied": False, "vocab": 61}}
                                      ).config.model
            decayed = optim.decayed(jax.eval_shape(lambda shape=shape: model.init(shape, jax.random.key(0))))
            names = {path[-1].key: value for path, value in jax.tree_util.tree_leaves_with_path(decayed)}
            self.assertEqual({name for name, value in names.items() if not value},
                             {name for name in names if "norm" in name or "bias" in name})
            self.assertTrue(names["wq"] and names["embed"] and names["head"])


if __name__ == "__main__":
    unittest.main()
