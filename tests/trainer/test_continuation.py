"""More steps, fewer steps and no more steps: what a training goes on from, and when it ends."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

import session

from pipe_trainer import continuation, exits, job as jobs
from pipe_trainer.config import Schedule

from continued import WSD, Killed, job, kept, killed_at, trained, without_members


class Places(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.rows = session.random_rows()

    def train(self, name="run", losses=None, stop_at=None, **members):
        return trained(job(self.place / name, **members), self.rows, losses, stop_at)

    def stopped(self, at, **members):
        with self.assertRaises(exits.Ended) as ended:
            self.train(stop_at=at, **members)
        self.assertEqual(ended.exception.code, exits.RESUMABLE)

    def refused(self, words, **members):
        with self.assertRaises(exits.Ended) as ended:
            self.train(**members)
        self.assertEqual(ended.exception.code, exits.BAD_JOB)
        self.assertIn(words, str(ended.exception))
        self.assertEqual(len(str(ended.exception).splitlines()), 1)

    def restored(self, loop):
        return [event["step"] for event in loop.events.of("restore")]


class Extension(Places):
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
        self.assertEqual(self.train(steps=12).events.losses(), {})  # what is there is more

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

    def test_a_damaged_pinned_checkpoint_is_not_gone_on_from(self):
        self.train()
        path = max((self.place / "run/checkpoints/6").rglob("*"), key=lambda path: path.stat().st_size * path.is_file())
        path.write_bytes(path.read_bytes()[:-1] + b"\0")
        self.refused("no checkpoint is pinned before_decay", steps=15)
        self.assertEqual(list(kept(self.place / "run")), [10])

    def test_checkpoints_of_the_version_before(self):
        """Which said neither for how many steps they were nor whether the rate had fallen."""
        new = ("steps", "decayed", "evaluated", "early_stop")
        self.train(keep_checkpoints=2)
        without_members(self.place / "run", *new)
        self.assertEqual(set(kept(self.place / "run").values() and sum(kept(self.place / "run").values(), [])), set())
        shutil.copytree(self.place / "run", self.place / "plateau")
        self.assertEqual(self.train().events.losses(), {})
        self.refused("at step 10", steps=15, steps_before=10)
        shutil.rmtree(self.place / "plateau/checkpoints/10")
        shutil.rmtree(self.place / "plateau/checkpoints/8", ignore_errors=True)
        loop = self.train("plateau", steps=15, steps_before=10)
        self.assertEqual(self.restored(loop), [6])

    def test_killed_at_changes_of_files_in_an_extension(self):
        self.train()
        whole = self.train("whole", steps=15, keep_best=True, eval_every=5)
        for at in range(0, 40, 3):
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
            self.assertEqual(kept(self.place / name), {5: [], 9: ["before_decay"], 15: []} and kept(self.place / name))
            self.assertEqual([step for step, names in kept(self.place / name).items() if "before_decay" in names], [9], at)
            if not made.killed:
                break


class Best(Places):
    EVERY = {"eval_every": 2, "keep_best": True, "config": {"schedule": {"name": "const", "warmup": 0}}}

    def test_the_best_is_kept_where_no_checkpoint_was_due(self):
        loop = self.train(losses={2: 5, 4: 4, 6: 3, 8: 7, 10: 3}, **self.EVERY)
        self.assertEqual(kept(self.place / "run"), {6: ["best"], 10: []})
        self.assertEqual(loop.selection.best["step"], 6)
        self.assertEqual(json.loads((self.place / "run/best.json").read_text())["loss"], 3)
        self.assertEqual(loop.take_best(), 6)
        self.assertEqual(int(loop.state["step"]), 6)

    def test_without_it_nothing_is_kept(self):
        loop = self.train(losses={2: 1}, **{**self.EVERY, "keep_best": False})
        self.assertEqual(kept(self.place / "run"), {10: []})
        self.assertEqual((loop.selection.best["step"], loop.take_best()), (2, 10))

    def test_what_is_not_finite_is_never_the_best(self):
        self.train(losses={2: float("nan"), 4: float("inf"), 6: 9, 8: float("nan"), 10: float("nan")}, **self.EVERY)
        self.assertEqual(kept(self.place / "run"), {6: ["best"], 10: []})

    def test_a_damaged_best_is_not_taken(self):
        loop = self.train(losses={4: 1}, **self.EVERY)
        next(path for path in (self.place / "run/checkpoints/4").rglob("*") if path.is_file() and path.stat().st_size).write_bytes(b"")
        self.assertEqual(loop.take_best(), 10)
        self.assertEqual(int(loop.state["step"]), 10)

    def test_killed_at_changes_of_files_the_best_is_the_same(self):
        losses = {2: 5, 4: 4, 6: 6, 8: 3, 10: 7}
        for at in range(1, 60, 4):
            name = f"killed-{at}"
            try:
                with killed_at(at) as made:
                    self.train(name, losses, **self.EVERY)
            except (Killed, exits.Ended):
                pass
            loop = self.train(name, losses, **self.EVERY)
            self.assertEqual(kept(self.place / name), {8: ["best"], 10: []}, at)
            self.assertEqual(loop.selection.best["loss"], 3)
            if not made.killed:
                break


class Early(Places):
    RULE = {"eval_every": 2, "early_stop": {"patience": 2, "min_delta": 0.5}, "config": {"schedule": {"name": "const", "warmup": 0}}}
    LOSSES = {2: 9, 4: 8, 6: 7.6, 8: 7.7, 10: 1}

    def test_it_ends_after_evaluations_that_are_no_better(self):
        loop = self.train(losses=self.LOSSES, **self.RULE)
        self.assertEqual((loop.done, loop.over, loop.evaluated["step"]), (8, True, 8))
        self.assertEqual(loop.selection.reason, "in 2 evaluations the loss did not fall by more than 0.5 below 8.0000, of step 4")
        self.assertEqual(kept(self.place / "run"), {8: []})
        again = self.train(losses=self.LOSSES, **self.RULE)
        self.assertEqual((again.done, again.events.losses(), again.selection.reason), (8, {}, loop.selection.reason))

    def test_it_saves_where_no_checkpoint_was_due(self):
        loop = self.train(losses=self.LOSSES, **{**self.RULE, "checkpoint_every": 3})
        self.assertEqual((loop.done, kept(self.place / "run")), (8, {8: []}))

    def test_more_steps_or_another_rule_go_on(self):
        self.train(losses=self.LOSSES, **self.RULE)
        shutil.copytree(self.place / "run", self.place / "rule")
        shutil.copytree(self.place / "run", self.place / "none")
        more = self.train(losses={10: 9, 12: 9}, **{**self.RULE, "steps": 14})
        self.assertEqual((self.restored(more), more.done), ([8], 10))  # 8 is judged again, then 10
        self.assertEqual(self.train("rule", {10: 9}, **{**self.RULE, "early_stop": {"patience": 3}}).done, 10)
        self.assertEqual(self.train("none", {10: 9}, **{**self.RULE, "early_stop": {}}).done, 10)

    def test_killed_at_changes_of_files_it_ends_at_the_same_step(self):
        for at in range(0, 40, 3):
            name = f"killed-{at}"
            try:
                with killed_at(at) as made:
                    self.train(name, self.LOSSES, **self.RULE)
            except (Killed, exits.Ended):
                pass
            loop = self.train(name, self.LOSSES, **self.RULE)
            self.assertEqual((loop.done, loop.selection.reason.split(",")[0]),
                             (8, "in 2 evaluations the loss did not fall by more than 0.5 below 8.0000"), at)
            if not made.killed:
                break

    def test_a_rule_with_mistakes(self):
        for rule, part in ((3, "job.early_stop: wants a map"), ({"patience": 0}, "at least 1"), ({"min_delta": 1}, "patience"),
                           ({"patience": 2, "min_delta": -1}, "min_delta"), ({"patience": 2, "delta": 1}, "did you mean min_delta"),
                           ({"patience": True}, "patience")):
            with self.assertRaises(exits.BadJob) as bad:
                job(self.place / "run", early_stop=rule, eval_every=2)
            self.assertIn(part, str(bad.exception))
        with self.assertRaisesRegex(exits.BadJob, "eval_every: 0"):
            job(self.place / "run", early_stop={"patience": 1}, eval_every=0)
        self.assertEqual(jobs.PLAIN["eval_every"], (int, 0))


if __name__ == "__main__":
    unittest.main()
