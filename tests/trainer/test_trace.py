"""Traces of JAX's profiler: which steps they have, where they lie, and that no training fails by them."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import places  # noqa: F401
import session

import jax

from pipe_trainer.exits import Ended
from pipe_trainer.run.trace import PLACE

from continued import job, trained

ROWS = session.random_rows()


class Traces(unittest.TestCase):
    def setUp(self):
        self.place = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def train(self, place="run", profile=None, **more):
        return trained(job(self.place / place, profile=profile or {"step": 5, "steps": 2}), ROWS, **more)

    def made(self, place="run"):
        """{name: the steps in it} of the traces."""
        found = {}
        for trace in (self.place / place / PLACE).glob("*/*.xplane.pb"):
            planes = jax.profiler.ProfileData.from_file(str(trace)).planes
            events = [event for plane in planes for line in plane.lines for event in line.events]
            self.assertTrue(any("dot" in event.name for event in events), "no operation of a model")
            found[trace.parent.name] = sorted({value for event in events if event.name == "step"
                                               for name, value in event.stats if name == "step_num"})
        return found

    def test_it_has_the_steps_that_were_asked_for(self):
        loop = self.train()
        self.assertEqual(self.made(), {"attempt-1-step-5": [5, 6]})
        self.assertEqual(loop.events.of("warn"), [])
        self.assertFalse((self.place / "run/trace.part").exists())

    def test_a_training_with_a_trace_is_the_training_without(self):
        self.assertEqual(self.train().events.losses(), trained(job(self.place / "other"), ROWS).events.losses())

    def test_a_stop_ends_it_early_and_the_next_attempt_makes_no_other(self):
        with self.assertRaises(Ended):
            self.train(profile={"step": 5, "steps": 5}, stop_at=6)
        self.assertEqual(self.made(), {"attempt-1-step-5": [5, 6]})
        with mock.patch.dict("os.environ", PIPE_ATTEMPT="2"):
            self.assertEqual(self.train(profile={"step": 5, "steps": 5}).events.of("warn"), [])
            self.assertEqual(self.train(profile={"step": 9, "steps": 9}).done, 10)
        self.assertEqual(self.made(), {"attempt-1-step-5": [5, 6]})

    def test_nothing_that_comes_between_steps_is_in_it(self):
        self.train(profile={"step": 3, "steps": 2})  # a checkpoint comes behind step 4
        self.train("cut", profile={"step": 3, "steps": 3})
        self.assertEqual((self.made(), self.made("cut")), ({"attempt-1-step-3": [3, 4]},) * 2)

    def test_an_attempt_behind_its_first_step_warns(self):
        with self.assertRaises(Ended):
            trained(job(self.place / "run"), ROWS, stop_at=6)
        warned, = self.train().events.of("warn")
        self.assertIn("profile: step 5 lies behind step 7, with which this attempt begins", warned["text"])
        self.assertEqual(self.made(), {})

    def test_a_failure_of_the_profiler_is_a_warning(self):
        for name in ("start_trace", "stop_trace"):
            with mock.patch.object(jax.profiler, name, side_effect=RuntimeError("no room")):
                loop = self.train(name)
            warned, = loop.events.of("warn")
            self.assertIn("profile: there is no trace of step 5: no room", warned["text"])
            self.assertEqual((loop.done, self.made(name)), (10, {}))
            if name == "stop_trace":
                jax.profiler.stop_trace()


if __name__ == "__main__":
    unittest.main()
