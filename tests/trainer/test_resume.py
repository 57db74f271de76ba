"""Runs that are killed, stopped and changed, as processes."""

import json
import platform
import random
import shutil
import signal
import sys
import time
import unittest
from pathlib import Path

import places  # noqa: F401

import continued
import runs
from runs import Run

STEPS = 12


class Resume(runs.WithRows):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = Run(cls.place / "whole", cls.data)
        if cls.whole.end():
            raise AssertionError(cls.whole.log_end())
        cls.number = 0

    def finishes_as_the_whole(self, name, **members):
        """The run continues, and every loss from the checkpoint to the end equals that of the uninterrupted run."""
        run = self.run_here(name, **members)
        self.assertEqual(run.end(), 0, run.log_end())
        first = run.of("restore")[0]["step"] + 1 if run.of("restore") else 1
        self.assertEqual(sorted(run.losses()), list(range(first, STEPS + 1)))
        for step, loss in run.losses().items():
            self.assertEqual(loss, self.whole.losses()[step], step)
        self.assertEqual(run.result()["final"]["loss"], self.whole.result()["final"]["loss"])
        return run

    def test_a_whole_run_leaves_its_results(self):
        self.assertEqual(sorted(self.whole.losses()), list(range(1, STEPS + 1)))
        result = self.whole.result()
        self.assertEqual((result["steps"], result["tokens"]), (STEPS, STEPS * 4 * runs.SEQ_LEN))
        self.assertEqual(set(result["baselines"]), {"uniform", "unigram", "bigram_kn"})
        self.assertTrue((self.whole.run_dir / result["checkpoint"]).is_dir())
        self.assertEqual([event["step"] for event in self.whole.of("ckpt_commit")], [4, 8, 12])
        self.assertEqual([event["seq"] for event in self.whole.events[:-1]], list(range(1, len(self.whole.events))))
        self.assertLess(sum(result["goodput"]["seconds"].values()), 200)

    def test_killed_at_a_random_step(self):
        at = random.SystemRandom().randint(5, STEPS - 1)
        run = self.run_here("killed")
        run.wait_for("ckpt_commit", step=4)
        run.wait_for("step", step=at)
        self.assertEqual(run.kill(), -signal.SIGKILL)
        again = self.finishes_as_the_whole("killed")
        self.assertGreaterEqual(again.of("restore")[0]["step"], 4, f"killed at step {at}")

    def test_an_evaluation_that_was_cut_off_is_made_by_the_next_attempt(self):
        run = self.run_here("evaluated", eval_every=4)
        run.wait_for("ckpt_commit", step=8)
        run.wait_for("eval", step=8)
        run.kill()
        for later in (run.run_dir / "checkpoints").glob("12*"):  # the kill may have come late
            shutil.rmtree(later) if later.is_dir() else later.unlink()
        (run.run_dir / "result.json").unlink(missing_ok=True)
        lines = (run.run_dir / "events.jsonl").read_text().splitlines(True)
        ends = next(number for number, line in enumerate(lines) if '"kind":"eval"' in line and '"step":8' in line)
        (run.run_dir / "events.jsonl").write_text("".join(lines[:ends + 1]))
        shutil.copytree(run.run_dir, self.place / "cut/run")
        again = self.finishes_as_the_whole("evaluated", eval_every=4)
        self.assertEqual([event["step"] for event in again.of("eval")], [12])
        events = self.place / "cut/run/events.jsonl"  # as if the signal had come before the evaluation of step 8
        events.write_text("".join(lines[:ends]))
        again = self.finishes_as_the_whole("cut", eval_every=4)
        self.assertEqual([event["step"] for event in again.of("eval")], [8, 12])
        for name in ("loss", "targets"):
            self.assertEqual(again.of("eval")[0][name], run.of("eval")[1][name])

    def test_variables_of_jax_change_no_bit(self):
        names = {"JAX_ENABLE_X64": "1", "JAX_DEFAULT_PRNG_IMPL": "rbg", "JAX_DISABLE_JIT": "1",
                 "JAX_NUMPY_DTYPE_PROMOTION": "strict"}
        run = self.finishes_as_the_whole("variables", environ=names)
        said = " ".join(event["text"] for event in run.of("warn"))
        for name in names:
            self.assertIn(f"{name} of the environment is not used", said)
        run = self.run_here("platform", environ={"JAX_PLATFORMS": "cuda"})
        self.assertEqual(run.end(), 78, run.log_end())
        self.assertIn("is not for this platform; make it again", run.log_end())

    def test_killed_during_a_save(self):
        """The kill comes after the files of a checkpoint are written and before it is committed."""
        run = self.run_here("saving", checkpoint_every=1)
        run.wait_for("ckpt_commit", step=2)
        checkpoints, deadline = run.run_dir / "checkpoints", time.monotonic() + 60
        torn = []
        while not torn and time.monotonic() < deadline:
            torn = [path for path in checkpoints.glob("*tmp*") if any(path.rglob("*"))]
        run.process.kill()
        self.assertEqual(run.end(), -signal.SIGKILL)
        self.assertTrue(torn)
        def strange():
            return [path.name for path in checkpoints.iterdir() if not path.name.removesuffix(".json").isdecimal()]

        left = strange()
        again = self.finishes_as_the_whole("saving", checkpoint_every=1)
        self.assertGreaterEqual(again.of("restore")[0]["step"], 2)
        self.assertFalse(strange(), left)

    def test_sigterm_saves_and_ends_with_42(self):
        run = self.run_here("stopped", checkpoint_every=1000)
        run.wait_for("step", step=3)
        run.process.send_signal(signal.SIGTERM)  # a scheduler's, and below the stage's
        time.sleep(0.05)
        self.assertEqual(run.kill(signal.SIGTERM), 42, run.log_end())
        stopped = run.of("preempt")[0]["step"]
        self.assertEqual([event["step"] for event in run.of("ckpt_commit")], [stopped])
        self.assertFalse(run.error_file.exists())
        again = self.finishes_as_the_whole("stopped", checkpoint_every=1000)
        self.assertEqual(again.of("restore")[0]["step"], stopped)
        third = self.run_here("stopped", checkpoint_every=1000)
        self.assertEqual(third.end(), 0)
        self.assertEqual(third.losses(), {})
        self.assertEqual(third.of("bye")[0]["summary"], again.result())

    def test_a_damaged_checkpoint_is_passed_over(self):
        shutil.copytree(self.place / "whole/run", self.place / "damaged/run")
        (self.place / "damaged/run/result.json").unlink()
        for path in (self.place / "damaged/run/checkpoints/12").rglob("*"):
            if path.is_file() and path.stat().st_size > 2000:
                path.write_bytes(path.read_bytes()[:1000] + bytes(500))
        again = self.finishes_as_the_whole("damaged")
        self.assertEqual(again.of("restore")[0]["step"], 8)
        self.assertIn("damaged, going back", again.of("warn")[0]["text"])

    def test_more_steps_go_on(self):
        shutil.copytree(self.place / "whole/run", self.place / "longer/run")
        run = self.run_here("longer", steps=STEPS + 2)
        self.assertEqual(run.end(), 0, run.log_end())
        self.assertEqual(sorted(run.losses()), [STEPS + 1, STEPS + 2])

    def test_another_environment_is_named_once_and_goes_on(self):
        (self.place / "moved").mkdir()
        shutil.copytree(self.place / "whole/run", self.place / "moved/run")
        continued.with_facts(self.place / "moved/run", lambda facts: {
            **facts, "environment": {**facts["environment"], "requirements": "tpu 0123", "python": "3.10.1"}})
        run = self.run_here("moved", steps=STEPS + 1)
        self.assertEqual(run.end(), 0, run.log_end())
        (text,) = (event["text"] for event in run.of("warn"))
        mark = Path(sys.prefix, "made-from")
        name = " ".join(mark.read_text().split()[:2]) if mark.exists() else "own"
        self.assertTrue(text.startswith(f"{self.place}/moved/run/checkpoints/12: was made in another environment: "
                                        f"requirements tpu 0123 and now {name}, python 3.10.1 and now "
                                        f"{platform.python_version()}; the training goes on"), text)
        again = self.run_here("moved", steps=STEPS + 2)
        self.assertEqual((again.end(), again.of("warn")), (0, []))

    def test_an_earlier_versions_checkpoint_names_no_environment(self):
        (self.place / "earlier").mkdir()
        shutil.copytree(self.place / "whole/run", self.place / "earlier/run")
        continued.without_members(self.place / "earlier/run", "environment")
        run = self.run_here("earlier", steps=STEPS + 1)
        self.assertEqual((run.end(), run.of("warn")), (0, []))

    def refused(self, code, words, **members):
        name = f"refused-{len(list(self.place.iterdir()))}"
        shutil.copytree(self.place / "whole/run", self.place / name / "run")
        run = self.run_here(name, **{"steps": STEPS + 2, **members})
        self.assertEqual(run.end(), code, run.log_end())
        error = json.loads(run.error_file.read_text())
        self.assertEqual(error["code"], code)
        self.assertIn(words, error["message"])
        self.assertEqual(run.of("error")[0]["message"], error["message"])

    def test_another_model_is_not_gone_on_with(self):
        self.refused(64, "was made with layers 2, and the job says 3", sets=["model.layers=3"])

    def test_other_rows_are_not_gone_on_with(self):
        self.refused(65, "was trained on rows of content", data=runs.make_rows(self.place / "other", seed=1))


if __name__ == "__main__":
    unittest.main()
