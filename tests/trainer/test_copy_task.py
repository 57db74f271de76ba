"""A task that only context solves: a document is one random block of ids, repeated.

Counting learns nothing from it: every id is as frequent as every other, after every other. The best possible loss is
that of the first block, which nothing predicts, and zero after it.
"""

import math
import tempfile
import unittest

import session

import numpy as np

SYMBOLS, BLOCK, TIMES = 32, 8, 8
FIRST = 5


def copies(count, seed):
    make = np.random.default_rng(seed)
    blocks = make.integers(FIRST, FIRST + SYMBOLS, (count, BLOCK))
    ids = np.concatenate([np.full((count, 1), session.EOS), np.tile(blocks, TIMES)], axis=1)
    return session.MemoryRows(ids, vocab=FIRST + SYMBOLS)


class CopyTask(unittest.TestCase):
    def test_the_model_uses_its_context(self):
        best = math.log(SYMBOLS) / TIMES
        steps = 400
        with tempfile.TemporaryDirectory() as place:
            job = session.small_job(place, {
                "model": {"layers": 2, "d": 64, "heads": 2, "kv_heads": 2, "ff": 128}, "batch": {"rows": 32},
                "optimizer": {"lr": 4e-3, "b2": 0.99}, "schedule": {"name": "wsd", "warmup": 0.05, "decay": 0.5}},
                steps=steps, log_every=20)
            loop = session.trained(job, copies(32 * steps, seed=0))
        losses = [event["loss"] for event in loop.events.of("step")]
        self.assertAlmostEqual(losses[0], math.log(SYMBOLS), delta=0.5)
        self.assertLess(np.mean(losses[-3:]), 1.3 * best, losses)
        self.assertGreater(np.mean(losses[-3:]), 0.9 * best, "less than what nothing foretells: it sees its targets")


if __name__ == "__main__":
    unittest.main()
