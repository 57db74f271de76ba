"""Decisions by evaluations: the checkpoint that is kept as the best, and early stopping."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

import places  # noqa: F401
import runs
import tiny_tokenizer
from packed_rows import write_manifest

from pipe_trainer import exits
from pipe_trainer.checkpoints.selection import EarlyStop, judged
from pipe_trainer.run import job as jobs

from continued import Killed, Runs, job, kept, killed_at


class Best(Runs):
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

    def test_an_evaluation_that_is_no_number_sends_the_run_back(self):
        class Once(dict):
            def get(self, step, default):
                return self.pop(step, default)
        for bad in (float("nan"), float("inf")):
            place = f"run-{bad}"
            loop = self.train(place, losses=Once({6: bad}), **{**self.EVERY, "checkpoint_every": 2, "keep_checkpoints": 2})
            self.assertEqual([(event["from"], event["to"]) for event in loop.events.of("rewind")], [(6, 4)])
            self.assertIn(f"step 6: its validation loss is {bad}", [event["text"] for event in loop.events.of("warn")])
            self.assertEqual((loop.done, loop.evaluated["loss"], loop.selection.best["step"]), (10, 10, 2))
            self.assertNotIn("null", (self.place / place / "best.json").read_text())

    def test_evaluations_that_stay_no_numbers_end_it_with_the_last_good_checkpoint(self):
        with self.assertRaises(exits.Ended) as ended:
            self.train(losses={step: float("nan") for step in (6, 8, 10)}, **{**self.EVERY, "checkpoint_every": 2, "keep_checkpoints": 2})
        self.assertEqual(ended.exception.code, exits.DIVERGED)
        self.assertIn("step 6: diverged: its validation loss is nan", str(ended.exception))
        self.assertEqual(max(kept(self.place / "run")), 4)

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


class Early(Runs):
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
        self.assertEqual((self.restored(more), more.done), ([8], 10))  # step 8 is evaluated again, then 10
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
        self.assertEqual(jobs.LEAST["eval_every"], 0)


class ByAScore(unittest.TestCase):
    RULE = {"patience": 2, "min_delta": 0.05}

    def noted(self, values, metric="matthews"):
        early = EarlyStop(self.RULE, 10, metric)
        for step, value in values.items():
            early.note(step, judged({"loss": 1.0, "matthews": value}, metric))
        return early

    def test_a_score_has_to_rise_and_is_told_with_its_sign(self):
        self.assertIsNone(self.noted({2: -0.2, 4: -0.1, 6: -0.08}).reason)
        self.assertEqual(self.noted({2: -0.2, 4: -0.1, 6: -0.08, 8: -0.3}).reason,
                         "in 2 evaluations the matthews did not rise by more than 0.05 above -0.1000, of step 4")

    def test_a_count_by_another_score_begins_anew(self):
        before = self.noted({2: 0.5, 4: 0.1}).facts()
        for metric, since in (("matthews", 1), ("accuracy", 0), ("loss", 0)):
            early = EarlyStop(self.RULE, 10, metric)
            early.restore(before)
            self.assertEqual(early.facts()["since"], since, metric)


class Results(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.data = runs.make_rows(self.place / "rows")
        (self.data / "tokenizer.model").write_bytes(tiny_tokenizer.path().read_bytes())
        (self.data / "MANIFEST.json").unlink()
        write_manifest(self.data)

    def ended(self, name, **members):
        run = runs.Run(self.place / name, self.data, **members)
        self.assertEqual(run.end(), 0, run.log_end())
        return run

    def test_the_export_is_that_of_the_best_evaluation(self):
        """A harmful learning rate, so that the loss rises now and then."""
        wild = {"sets": ["optimizer.lr=0.5", "schedule.warmup=0"], "eval_every": 1, "checkpoint_every": 5}
        scores = {event["step"]: event["loss"] for event in self.ended("first", **wild).of("eval")}
        last = next(step for step in scores if scores[step] > min(scores[other] for other in scores if other <= step))
        best = min((step for step in scores if step <= last), key=scores.get)
        wild.update(keep_best=True, export=True)
        run = self.ended("wild", **wild, keep_checkpoints=1, steps=last)
        result = run.result()
        self.assertEqual((result["best"]["step"], result["export_step"], result["final"]["step"]), (best, best, last))
        self.assertEqual(result["best"]["loss"], scores[best])
        until = self.ended("until", **{**wild, "keep_best": False}, steps=best)
        self.assertNotIn("export_step", until.result())
        weights = [(one.run_dir / "export/model.safetensors").read_bytes() for one in (run, until)]
        self.assertEqual(*weights)
        self.assertIn(f"| steps | {best} |", (run.run_dir / "export/README.md").read_text())
        whole = run.result()["baselines"]["bigram_kn"]
        self.assertEqual(whole["train_targets"], whole["train_targets_of"])

    def test_an_early_end_is_told(self):
        run = self.ended("early", eval_every=2, early_stop={"patience": 2, "min_delta": 100.0})
        result = run.result()
        self.assertEqual(result["steps"], 6)
        self.assertEqual(result["stopped_early"]["step"], 6)
        self.assertIn("in 2 evaluations the loss did not fall by more than 100", result["stopped_early"]["reason"])
        self.assertEqual(run.of("early_stop")[0]["reason"], result["stopped_early"]["reason"])
        again = self.ended("early", eval_every=2, steps=20)
        self.assertEqual((again.of("restore")[0]["step"], again.result()["steps"]), (6, 20))
        self.assertNotIn("stopped_early", again.result())

    def test_without_evaluations_there_is_the_last(self):
        self.assertEqual([event["step"] for event in self.ended("none", eval_every=0).of("eval")], [12])


if __name__ == "__main__":
    unittest.main()
