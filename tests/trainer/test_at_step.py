"""A checkpoint without a step: its scores are those of the training's evaluation, for every kind of objective."""

import contextlib
import io
import json
import os
import shutil
import unittest
from pathlib import Path

import runs
import session  # noqa: F401
import tiny_tokenizer
import xla_flags
from packed_rows import stream_rows

from pipe_trainer import at_step, exits
from pipe_trainer.run.events import Warnings

STEP = 4
SMALL = {"layers": 1, "d": 32, "heads": 2, "ff": 64}
CASES = {
    "causal with an average": {**runs.TINY, "regularizers": {"ema": 0.9}},
    "causal on some rows": {**runs.TINY, "eval": {"rows": 3}},
    "masked": {"preset": "tiny-masked", "model": SMALL, "batch": {"rows": 4}},
    "spans": {"preset": "tiny-spans", "model": {**SMALL, "layers": 4}, "batch": {"rows": 4}},
    "spans with experts": {"preset": "tiny-spans", "batch": {"rows": 4},
                           "model": {**SMALL, "experts": 4, "expert_every": 1}},
    "lm1b": {"preset": "lm1b", "model": SMALL, "batch": {"rows": 4}},
}


class WarningsOfACommand(unittest.TestCase):
    def test_they_alone_come_through_its_channel(self):
        read, write = os.pipe()
        events = Warnings(write, log=io.StringIO())
        events.phase("eval")
        events.emit("warn", text="no document of the label good")
        os.close(write)
        with open(read, encoding="utf-8") as lines:
            self.assertEqual([json.loads(line)["text"] for line in lines], ["no document of the label good"])


class AtStep(runs.WithTokenizer):
    def trained(self, name, config, **members):
        run = self.run_here(name, config=config, steps=8, eval_every=STEP, checkpoint_every=STEP, **members)
        self.assertEqual(run.end(), 0, run.log_end())
        return run

    def job_of(self, run, **changes):
        """The job of the checkpoint beside a copy of it, as the command makes them."""
        place = run.run_dir.parent / "at_step"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(run.run_dir / f"checkpoints/{STEP}", place / f"checkpoints/{STEP}")
        shutil.copy(run.run_dir / f"checkpoints/{STEP}.json", place / "checkpoints")
        whole = json.loads(next(run.run_dir.parent.glob("job-*.json")).read_text())
        file = place / "job.json"
        file.write_text(json.dumps({**whole, "run_dir": str(place), "steps": STEP, **changes}))
        return file

    def said(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        out.reconfigure = lambda encoding: None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = at_step.main([str(word) for word in arguments])
        return code, out.getvalue(), errors.getvalue()

    def test_the_scores_are_those_of_the_training(self):
        for name, config in CASES.items():
            with self.subTest(name):
                run = self.trained(name.replace(" ", "-"), config)
                wanted = next(event for event in run.of("eval") if event["step"] == STEP)
                file = Path(self.place) / "scores.json"
                code, said, errors = self.said("--job", self.job_of(run), "--json", file)
                self.assertEqual(code, 0, errors)
                found = json.loads(file.read_text())
                for key in ("loss", "targets", "bits_per_char"):
                    self.assertEqual(found[key], wanted[key], key)
                self.assertIn(f"{wanted['loss']:.4f} nats", said)

    def test_an_export_that_there_cannot_be_is_refused_before_the_model_is_read(self):
        run = self.trained("refused", CASES["lm1b"])
        code, _, errors = self.said("--job", self.job_of(run, export=True))
        self.assertEqual((code, "no program reads an export of the family lm1b" in errors), (exits.BAD_DATA, True), errors)
        first = self.trained("first", CASES["masked"], export=True)
        config = {"preset": "tiny-masked", "batch": {"rows": 4}}
        tuned = self.trained("tuned", config, init_from=str(first.run_dir / "export"))
        shutil.rmtree(first.run_dir)
        code, _, errors = self.said("--job", self.job_of(tuned, export=True, config={**config, "export": {"gguf": "f16"}}))
        self.assertEqual(code, exits.BAD_JOB, errors)
        self.assertIn("config.export.gguf: llama.cpp has no counterpart of family bert", errors)
        code, said, errors = self.said("--job", self.job_of(tuned, export=True))
        self.assertEqual(code, 0, errors)
        self.assertIn("began with", (tuned.run_dir.parent / "at_step/export/README.md").read_text())
        self.assertIn("model.safetensors", said)

    def test_rows_that_the_checkpoint_cannot_be_scored_on_are_named(self):
        run = self.trained("rows", runs.TINY)
        other, shorter = Path(self.place) / "other", Path(self.place) / "shorter"
        model = {"model": tiny_tokenizer.path().read_bytes()}
        runs.make_rows(other, seed=5, vocab=tiny_tokenizer.VOCAB, **model)
        short = [list(stream_rows([runs.EOS, *range(5, 60)], 16))]
        runs.write_packed(shorter, {"train": short, "validation": short}, 16, tiny_tokenizer.VOCAB, **model)

        def asked(place, config):
            data = {"dir": str(place), "train": "validation", "validation": "validation"}
            return self.said("--job", self.job_of(run, data=data, config=config))
        code, _, errors = asked(other, runs.TINY)
        self.assertEqual(code, exits.BAD_DATA, errors)
        self.assertIn(f"{other}: its content is ", errors)
        changed = {**runs.TINY, "data": {"allow_change": True}}
        code, said, errors = asked(other, changed)
        self.assertEqual(code, 0, errors)
        self.assertIn("rows of validation", said)
        code, _, errors = asked(shorter, changed)
        self.assertEqual(code, exits.BAD_DATA, errors)
        self.assertIn("rows of 16 ids, and the checkpoint learned rows of 32; make an export of it", errors)

    def test_a_checkpoint_of_several_devices_needs_one(self):
        run = self.trained("devices", {**runs.TINY, "mesh": {"fsdp": 4}}, environ={"XLA_FLAGS": xla_flags.with_devices(4)})
        wanted = next(event["loss"] for event in run.of("eval") if event["step"] == STEP)
        file = Path(self.place) / "devices.json"
        code, _, errors = self.said("--job", self.job_of(run, config=runs.TINY), "--json", file)
        self.assertEqual(code, 0, errors)
        self.assertAlmostEqual(json.loads(file.read_text())["loss"], wanted, delta=1e-4)


if __name__ == "__main__":
    unittest.main()
