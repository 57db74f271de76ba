"""Trainings with more or fewer steps: the checkpoint from which each continues."""

import shutil
import unittest
from unittest import mock

import places  # noqa: F401

from pipe_trainer import exits
from pipe_trainer.checkpoints import continuation
from pipe_trainer.config import Schedule
from pipe_trainer.run import loop

from continued import Killed, Runs, kept, killed_at, without_members


class Extension(Runs):
    def goes_on_as(self, whole, loop, first):
        self.assertEqual(min(loop.events.losses()), first)
        for step, loss in loop.events.losses().items():
            self.assertEqual(loss, whole.events.losses()[step], step)

    def test_where_the_rate_begins_to_fall(self):
        for schedule, steps, begins in (
                ({"warmup": 0, "decay": 0.4}, 10, 6), ({"warmup": 0, "decay": 0.25}, 10, 7), ({"warmup": 0, "decay": 3}, 10, 7),
                ({"warmup": 0, "decay": 0.0}, 10, None), ({"warmup": 0, "decay": 10}, 10, 0), ({"warmup": 8, "decay": 0.4}, 10, 8),
                ({"name": "cosine", "warmup": 0.15}, 10, 2), ({"name": "linear", "warmup": 0}, 10, 0),
                ({"name": "rsqrt"}, 10, None), ({"name": "const"}, 10, None), ({"name": "cosine", "final": 1.0}, 10, None),
                ({"name": "linear", "warmup": 20}, 10, None)):
            self.assertEqual(continuation.decay_begins(Schedule(**schedule), steps), begins, schedule)

    def test_more_steps_start_before_the_decay_again_and_again(self):
        self.train()
        self.assertEqual(kept(self.place / "run"), {6: ["before_decay"], 10: []})
        for steps, back, begins in ((15, 6, 9), (25, 9, 15)):
            loop, whole = self.train(steps=steps), self.train(f"whole-{steps}", steps=steps)
            self.assertEqual([(event["from"], event["to"]) for event in loop.events.of("extend")],
                             [({15: 10, 25: 15}[steps], back)])
            self.assertEqual(self.restored(loop), [back])
            self.goes_on_as(whole, loop, back + 1)
            self.assertEqual(kept(self.place / "run"), {begins: ["before_decay"], steps: []})

    def test_what_had_stopped_in_the_middle_of_its_decay_goes_back_too(self):
        self.stopped(8)
        self.assertEqual(kept(self.place / "run"), {6: ["before_decay"], 8: []})
        loop = self.train(steps=15)
        self.assertEqual(self.restored(loop), [6])
        self.goes_on_as(self.train("whole", steps=15), loop, 7)

    def test_what_had_stopped_before_its_decay_simply_goes_on(self):
        self.stopped(5)
        loop = self.train(steps=15)
        self.assertEqual((self.restored(loop), loop.events.of("extend")), ([5], []))
        self.goes_on_as(self.train("whole", steps=15), loop, 6)

    def test_the_same_steps_go_on_in_the_decay(self):
        whole = self.train("whole")
        self.stopped(8)
        self.goes_on_as(whole, self.train(), 9)

    def test_fewer_steps_fall_from_where_they_are_and_more_start_there_again(self):
        self.stopped(8, steps=20)
        loop = self.train(steps=10)
        self.assertEqual(self.restored(loop), [8])
        self.assertEqual([event["pinned"] for event in loop.events.of("ckpt_pin")], ["before_decay"])
        self.assertEqual(kept(self.place / "run"), {8: ["before_decay"], 10: []})
        loop = self.train(steps=20)
        self.assertEqual(self.restored(loop), [8])
        self.goes_on_as(self.train("whole", steps=20), loop, 9)
        self.assertEqual(self.train(steps=12).events.losses(), {})  # the run has more steps already

    def test_without_a_pinned_checkpoint_it_says_what_to_do(self):
        self.train()
        shutil.rmtree(self.place / "run/checkpoints/6")
        before = kept(self.place / "run")
        self.refused("no checkpoint is pinned before_decay to go back to", steps=15)
        self.refused("put steps back to 10", steps=15)
        self.assertEqual(kept(self.place / "run"), before)
        self.assertEqual(self.train().events.losses(), {})

    def test_schedules_that_fall_from_the_warmup_on(self):
        for name in ("cosine", "linear"):
            config = {"schedule": {"name": name, "warmup": 4}}
            self.train(name, config=config)
            self.refused(f"with schedule {name} there is no checkpoint before that", name=name, steps=15, config=config)
            self.assertEqual(self.train(name, config=config).done, 10)

    def test_schedules_that_know_no_end_simply_go_on(self):
        for name in ("rsqrt", "const"):
            config = {"schedule": {"name": name, "warmup": 4}}
            self.train(name, config=config)
            self.assertEqual(kept(self.place / name), {10: []})
            loop = self.train(name, steps=12, config=config)
            self.goes_on_as(self.train(f"{name}-whole", steps=12, config=config), loop, 11)

    def test_a_warmup_that_is_a_share_stays_as_long_as_it_was(self):
        for name, wanted in (("rsqrt", lambda step: (4 / step) ** 0.5), ("const", lambda step: 1), ("wsd", lambda step: 1)):
            config = {"schedule": {"name": name, "warmup": 0.4, "decay": 0.25}}
            for earlier in (False, True) if name != "wsd" else (False,):  # its checkpoints lost their pins
                place = f"{name}-{earlier}"
                self.train(place, config=config)
                if earlier:
                    without_members(self.place / place, "warmup")
                for steps in (40, 100):
                    loop = self.train(place, steps=steps, config=config)
                    plateau = [event for event in loop.events.of("step") if name != "wsd" or event["step"] <= 0.75 * steps]
                    self.assertTrue(plateau)
                    for event in plateau:
                        self.assertAlmostEqual(event["lr"] / loop.config.optimizer.lr, wanted(event["step"]))

    def test_a_damaged_pinned_checkpoint_is_not_gone_on_from(self):
        self.train()
        path = max((self.place / "run/checkpoints/6").rglob("*"), key=lambda path: path.stat().st_size * path.is_file())
        path.write_bytes(path.read_bytes()[:-1] + b"\0")
        self.refused("no checkpoint is pinned before_decay", steps=15)
        self.assertEqual(list(kept(self.place / "run")), [10])

    def test_checkpoints_of_the_version_before(self):
        """Such checkpoints say neither for how many steps they were made nor whether the rate had fallen."""
        new = ("steps", "decayed", "warmup", "eval_rows", "evaluated", "early_stop")
        self.train(keep_checkpoints=2)
        without_members(self.place / "run", *new)
        self.assertEqual(kept(self.place / "run"), {6: [], 8: [], 10: []})
        shutil.copytree(self.place / "run", self.place / "plateau")
        self.assertEqual(self.train().events.losses(), {})
        self.refused("at step 10", steps=15, steps_before=10)
        shutil.rmtree(self.place / "plateau/checkpoints/10")
        shutil.rmtree(self.place / "plateau/checkpoints/8")
        loop = self.train("plateau", steps=15, steps_before=10)
        self.assertEqual(self.restored(loop), [6])

    def test_killed_at_changes_of_files_in_an_extension(self):
        self.train()
        whole = self.train("whole", steps=15, keep_best=True, eval_every=5)
        for at in range(0, 40, 5):
            name = f"killed-{at}"
            shutil.copytree(self.place / "run", self.place / name)
            try:
                with killed_at(at) as made:
                    self.train(name, steps=15, keep_best=True, eval_every=5)
            except (Killed, exits.Ended):
                pass
            loop = self.train(name, steps=15, keep_best=True, eval_every=5)
            self.assertGreaterEqual(self.restored(loop)[0], 6)
            for step, loss in loop.events.losses().items():
                self.assertEqual(loss, whole.events.losses()[step], (at, step))
            self.assertEqual([step for step, names in kept(self.place / name).items() if "before_decay" in names], [9], at)
            if not made.killed:
                break


class Stops(Runs):
    def test_the_first_checkpoint_comes_by_time_however_far_apart_they_are(self):
        whole = self.train("whole", checkpoint_every=1000, keep_checkpoints=9)
        self.assertEqual(sorted(kept(self.place / "whole")), [6, 10])
        with mock.patch("pipe_trainer.run.loop.FIRST_SAVE_SECONDS", 0):
            early = self.train(checkpoint_every=1000, keep_checkpoints=9)
        self.assertEqual(sorted(kept(self.place / "run")), [2, 6, 10], "once, when the wish of step 1 is read")
        self.assertEqual(early.events.losses(), whole.events.losses())

    def test_a_stop_before_the_first_step_takes_none(self):
        for moment in ("_load", "begin"):
            with mock.patch(f"pipe_trainer.run.loop.Loop.{moment}", asked_in(moment)), \
                    self.assertRaises(exits.Ended) as ended:
                self.train()
            self.assertEqual(ended.exception.code, exits.RESUMABLE)
            self.assertEqual(kept(self.place / "run"), {}, moment)


def asked_in(name):
    """That method of a loop, with a signal meanwhile."""
    method = getattr(loop.Loop, name)

    def asked(self, *values):
        self.stop.asked = True
        return method(self, *values)
    return asked


if __name__ == "__main__":
    unittest.main()
