"""Pinned checkpoints, through kills at each change of a file."""

import json
import tempfile
import unittest
from pathlib import Path

import session  # noqa: F401

import jax.numpy as jnp

from pipe_trainer.checkpoints import ckpt, digests

from continued import Killed, kept, killed_at

FACTS = {"step": 1}


class Pins(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.number = 0

    def open(self, place, keep=1):
        checkpoints = ckpt.Checkpoints(place / "checkpoints", keep)
        self.addCleanup(checkpoints.abandon)
        return checkpoints

    @staticmethod
    def save(checkpoints, step, *pinned, best=None):
        checkpoints.save(step, {"a": jnp.full(4, step, jnp.float32)}, FACTS, lambda step: None, pinned, best)
        checkpoints.wait()

    def changes(self, checkpoints):
        """Each change, with the newest step, `before_decay` and `best` after it."""
        return (
            (lambda: self.save(checkpoints, 2), (2, None, None)),
            (lambda: self.save(checkpoints, 4, "before_decay"), (4, 4, None)),
            (lambda: self.save(checkpoints, 6, "best", best={"loss": 3.0}), (6, 4, 6)),
            (lambda: self.save(checkpoints, 8), (8, 4, 6)),
            (lambda: checkpoints.pin(8, "best", {"loss": 2.0}), (8, 4, 8)),
            (lambda: self.save(checkpoints, 10), (10, 4, 8)),
            (lambda: checkpoints.drop_beyond(8), (8, 4, 8)),
            (lambda: checkpoints.drop_beyond(4), (4, 4, None)),
            (lambda: self.save(checkpoints, 7, "before_decay"), (7, 7, None)),
            (lambda: self.save(checkpoints, 8), (8, 7, None)))

    def test_pinned_ones_stay_and_there_is_one_of_each(self):
        place = self.place
        checkpoints = self.open(place)
        self.save(checkpoints, 2)
        self.save(checkpoints, 4, "before_decay")
        self.save(checkpoints, 6, "best", best={"loss": 3.0})
        self.save(checkpoints, 8)
        self.assertEqual(kept(place), {4: ["before_decay"], 6: ["best"], 8: []})
        self.assertEqual((checkpoints.pinned("best"), checkpoints.pinned("before_decay")), (6, 4))
        self.assertEqual(checkpoints.best(), {"loss": 3.0, "step": 6})
        checkpoints.pin(8, "best", {"loss": 2.0})
        self.assertEqual(kept(place), {4: ["before_decay"], 8: ["best"]})
        checkpoints.pin(8, "before_decay")
        self.assertEqual(kept(place), {8: ["best", "before_decay"]})
        self.assertEqual(checkpoints.best(), {"loss": 2.0, "step": 8})

    def test_a_name_goes_from_one_that_is_kept_for_another_reason(self):
        checkpoints = self.open(self.place, keep=3)
        self.save(checkpoints, 2, "best", best={"loss": 3.0})
        self.save(checkpoints, 4, "best", best={"loss": 2.0})
        self.assertEqual(kept(self.place), {2: [], 4: ["best"]})

    def test_killed_at_any_change_a_kept_one_is_there_and_whole(self):
        at, over = 0, False
        while not over:
            place, states = self.place / str(at), [(None, None, None)]
            checkpoints = self.open(place)
            try:
                with killed_at(at) as made:
                    for change, behind in self.changes(checkpoints):
                        states.append(behind)
                        change()
                        if made.killed:  # on the thread that saves
                            raise Killed
                        states = states[-1:]
                over = True
            except Killed:
                at += 1
            checkpoints.abandon()
            again = self.open(place)
            steps = again.steps()
            found = steps[0] if steps else None, again.pinned("before_decay"), again.best() and again.best()["step"]
            self.assertEqual(sorted(kept(place)), sorted(steps))
            for number, name in enumerate(("newest", "before_decay", "best")):
                self.assertIn(found[number], {state[number] for state in states}, f"{name}, killed at change {at - 1}")
            if steps:
                state = again.restore(steps[0], {"a": jnp.zeros(4, jnp.float32)})
                self.assertEqual(float(state["a"][0]), steps[0])
            again.abandon()
        self.assertGreater(at, 25)
        print(f"killed at each of {at} changes of files")

    def test_a_marker_of_the_version_before_has_no_pins_and_gets_them(self):
        checkpoints = self.open(self.place)
        self.save(checkpoints, 2)
        self.assertEqual(set(json.loads((self.place / "checkpoints/2.json").read_text())), {"pipe_checkpoint", "step", "files"})
        self.assertIsNone(checkpoints.pinned("best"))
        digests.place(self.place / "checkpoints/2").unlink()  # a checkpoint of an even earlier version: no digests
        checkpoints.pin(2, "before_decay")
        self.assertEqual(kept(self.place), {2: ["before_decay"]})

    def test_pins_that_are_none_are_damage(self):
        checkpoints = self.open(self.place)
        self.save(checkpoints, 2, "best", best={"loss": 1.0})
        path = digests.place(self.place / "checkpoints/2")
        said = json.loads(path.read_text())
        for pinned in ("best", ["worst"], [["best"]], {"best": 1}, [1], 7):
            path.write_text(json.dumps({**said, "pinned": pinned}))
            with self.assertRaises(digests.Damaged, msg=pinned):
                digests.verify(self.place / "checkpoints/2")
            self.assertIn(digests.pins(self.place / "checkpoints/2"), ((), ("best",)))
        for best in (None, 7, {"loss": "low"}, []):
            path.write_text(json.dumps({**said, "best": best}))
            self.assertIsNone(checkpoints.best())


if __name__ == "__main__":
    unittest.main()
