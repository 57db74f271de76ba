"""Jobs with mistakes are refused as a whole; each mistake is named with its place and a suggestion."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import places

from pipe_trainer import config
from pipe_trainer.exits import BadJob
from pipe_trainer.run import job

GOOD = {"pipe_job": 1, "run_dir": "/nowhere", "data": {"dir": "d", "train": "train", "validation": "validation"}}


def mistakes(**members):
    try:
        job.parse({**GOOD, **members})
    except BadJob as error:
        return error.mistakes
    return []


class Jobs(unittest.TestCase):
    def test_defaults_come_from_the_preset_and_what_is_given_is_put_over_them(self):
        found = job.parse({**GOOD, "config": {"preset": "ja-0.1b", "model": {"layers": 3}}})
        self.assertEqual((found.config.model.layers, found.config.model.d, found.config.batch.rows), (3, 768, 256))
        self.assertEqual(job.parse(GOOD).config.model.d, config.PRESETS["tiny"]["model"]["d"])

    def test_a_job_is_read_before_jax_is_imported(self):
        """A broken JAX is reported as an environment to repair, and a wrong job at once."""
        code = "import sys; from pipe_trainer import __main__; from pipe_trainer.run import job; sys.exit('jax' in sys.modules or 'numpy' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False,
                                        env={**os.environ, "PYTHONPATH": str(places.PACKAGE)}).returncode, 0)

    def test_every_preset_is_without_mistakes(self):
        for name in config.PRESETS:
            self.assertEqual(mistakes(config={"preset": name}), [], name)

    def test_all_mistakes_are_told_at_once(self):
        found = mistakes(stepz=3, steps="many", seed=-1, prompts="no list", export=1, tokenizer=[],
                         config={"preset": "quikstart", "modle": {}, "optimizer": {"lr": "fast"},
                                 "model": {"layerz": 1, "d": 0, "tied": 1, "remat": "ful", "heads": 2.5}})
        for part in ("job.stepz: there is no such key; did you mean steps?", 'job.steps: wants a whole number',
                     "job.seed: wants a whole number of at least 0", "job.prompts: wants a list", "job.export: wants",
                     "job.tokenizer: wants a map", 'config.preset: "quikstart"; did you mean quickstart?',
                     "config.modle: there is no such key; did you mean model?", "config.optimizer.lr: wants a number",
                     "config.model.layerz: there is no such key; did you mean layers?",
                     "config.model.d: wants at least 1, and is 0", "config.model.tied: wants true or false",
                     "did you mean full?", "config.model.heads: wants a whole number, and is 2.5"):
            self.assertTrue([line for line in found if part in line], (part, found))

    def test_fields_that_do_not_go_together(self):
        for model, part in (({"heads": 4, "kv_heads": 3}, "kv_heads: 3 does not divide heads 4"),
                            ({"d": 100, "heads": 3}, "heads: 3 does not divide d 100"),
                            ({"head_dim": 5}, "head_dim: 5 is odd"),
                            ({"family": "lm1b"}, "lm1b has")):
            self.assertTrue([line for line in mistakes(config={"model": model}) if part in line], part)

    def test_values_of_wrong_types_never_crash(self):
        for value in (None, 0, -1, 1.5, True, "x", [], [1], {}, {"a": 1}, 10 ** 40, float("inf")):
            for key in (*GOOD, "config", "steps", "prompts", "threads", "lineage", "name"):
                try:
                    job.parse({**GOOD, key: value})
                except BadJob as error:
                    self.assertTrue(error.mistakes)
            for section, kind in config.SECTIONS.items():
                for name in kind.__dataclass_fields__:
                    for part in (value, {name: value}):
                        try:
                            job.parse({**GOOD, "config": {section: part}})
                        except BadJob as error:
                            self.assertTrue(error.mistakes)

    def test_settings_are_put_on_top(self):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "job.json"
            path.write_text(json.dumps({**GOOD, "steps": 5}))
            found = job.read(path, ["steps=7", "model.layers=3", "preset=quickstart", "schedule.name=cosine"])
            self.assertEqual((found.steps, found.config.model.layers, found.config.model.d, found.config.schedule.name),
                             (7, 3, 128, "cosine"))
            for setting, part in (("steps", "has the form a.b=c"), ("a..b=1", "has the form"), ("steps.x=1", "no such key"),
                                  ("model.layers.x=1", "wants a whole number")):
                with self.assertRaisesRegex(BadJob, part):
                    job.read(path, [setting])

    def test_each_key_is_described(self):
        text = (places.PACKAGE / "README.md").read_text(encoding="utf-8")
        for section, kind in config.SECTIONS.items():
            row = "\n".join(line for line in text.splitlines() if line.startswith(f"| `{section}."))
            for name in kind.__dataclass_fields__:
                self.assertRegex(row, rf"`({section}\.)?{name}`", f"{section}.{name}")

    def test_a_file_that_is_no_job(self):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "job.json"
            with self.assertRaisesRegex(BadJob, "No such file"):
                job.read(path)
            for text in ("", "[]", "{}", '{"pipe_job": 2}', "\0", "[" * 100000):
                path.write_text(text)
                with self.assertRaises(BadJob):
                    job.read(path)


if __name__ == "__main__":
    unittest.main()
