"""Whole runs with leaner exports: the prices are those of the published files, also after a kill."""

import json
import unittest
from pathlib import Path

import jax
import llama_forward
import numpy as np
import runs
import session
import tensor_files
import tiny_tokenizer
from packed_rows import stream_rows

from pipe_trainer import exits
from pipe_trainer.data.rows import Rows
from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.export import gguf, initial, leaner
from pipe_trainer.run.signals import Stop

SEQ_LEN, STEPS = 32, 12
LLAMA = {**runs.TINY, "export": {"prune": 0.5, "int8": True, "gguf": "both"}}
BERT = {"preset": "tiny-masked", "model": {"layers": 1, "d": 32, "heads": 2, "ff": 64}, "batch": {"rows": 4},
        "export": {"prune": 0.9, "int8": True}}


def make_rows(directory):
    """Rows with the ids of a tokenizer, some of them bytes."""
    make = np.random.default_rng(0)

    def split(count):
        ids = np.where(make.random(count * SEQ_LEN + 1) < 0.1, make.integers(5, 261, count * SEQ_LEN + 1),
                       make.integers(261, 300, count * SEQ_LEN + 1))
        ids[make.random(len(ids)) < 0.05] = runs.EOS
        return [list(stream_rows([int(token) for token in ids], SEQ_LEN))]
    return runs.write_packed(directory, {"train": split(24), "validation": split(5)}, SEQ_LEN, tiny_tokenizer.VOCAB,
                             model=tiny_tokenizer.path().read_bytes())


class Prices(runs.WithRows):
    @classmethod
    def rows_at(cls, directory):
        return make_rows(directory)

    def ended(self, name, config, **members):
        run = self.run_here(name, config=config, export=True, steps=STEPS, **members)
        self.assertEqual(run.end(), 0, run.log_end())
        return run

    def rows_of_split(self):
        return Rows(str(self.data), "validation", 0, False)

    def test_the_prices_are_those_of_the_published_files(self):
        run = self.ended("llama", LLAMA)
        place, prices = run.run_dir / "export", run.result()["leaner"]
        trained, plain, *_ = prices
        self.assertEqual([price["file"] for price in prices],
                         [None, "model.safetensors", "int8.safetensors", "model-f16.gguf", "model-q8_0.gguf"])
        self.assertEqual(trained["loss"], run.result()["final"]["loss"])
        self.assertEqual([(told["file"], told["loss"], told["trained"]) for told in run.of("price")],
                         [(price["file"], price["loss"], trained["loss"]) for price in prices[1:]])
        self.assertGreater(plain["loss"], trained["loss"] + 1e-4)
        weights = tensor_files.read(place / "model.safetensors")
        for name, values in weights.items():
            if leaner.is_of_layer(name, values.shape):
                self.assertEqual(int((values == 0).sum()), values.size // 2, name)
        found = {"model.safetensors": weights, "int8.safetensors": tensor_files.read_int8(place / "int8.safetensors")}
        for kind in ("f16", "q8_0"):  # oracle.gguf reads the files themselves
            file = f"model-{kind}.gguf"
            found[file] = {name: gguf.as_read(name, values, kind) for name, values in weights.items()}
        settings = json.loads((place / "config.json").read_text())
        rows = [row.tolist() for row in self.rows_of_split().in_order(0, 5).tokens]
        for price in prices[1:]:
            nats = sum(llama_forward.nats(settings, found[price["file"]], row, runs.EOS) for row in rows)
            self.assertAlmostEqual(nats / price["targets"], price["loss"], delta=1e-5, msg=price["file"])
            self.assertEqual(price["bytes_of_file"], (place / price["file"]).stat().st_size)
            self.assertAlmostEqual(price["bits_per_char"], nats / np.log(2) / price["chars"], delta=1e-4)
        ids = np.concatenate(rows)
        card = (place / "README.md").read_text(encoding="utf-8")
        self.assertIn(f"{((ids >= 5) & (ids < 261)).mean():.2%} of the ids of the validation rows", card)
        self.assertIn(f"| **this model** | {plain['loss']:.4f} |", card)
        self.assertIn('"export": {', card)

    def test_a_killed_run_exports_the_same_bytes(self):
        whole = self.ended("whole", LLAMA)
        cut = runs.Run(self.place / "cut", self.data, config=LLAMA, export=True, steps=STEPS)
        self.addCleanup(cut.process.kill)
        cut.wait_for("phase", name="export")
        cut.kill()
        self.assertFalse((cut.run_dir / "result.json").exists())
        again = self.ended("cut", LLAMA)
        for path in (whole.run_dir / "export").iterdir():
            self.assertEqual(path.read_bytes(), (again.run_dir / "export" / path.name).read_bytes(), path.name)
        self.assertEqual(again.result()["leaner"], whole.result()["leaner"])

    def test_a_stop_during_an_evaluation_ends_the_run_as_resumable(self):
        rows = session.random_rows()
        stop = Stop()
        loop = session.trained(session.small_job(self.place / "stopped", steps=2), rows, stop=stop)
        params = jax.device_get(loop.whole_parameters())
        held_out = HeldOut(loop.setup, session.Recorder())
        self.assertEqual(loop.price(params, held_out.score)["targets"], rows.targets)
        stop.asked = True
        with self.assertRaises(exits.Ended) as ended:
            loop.price(params, held_out.score)
        self.assertEqual(ended.exception.code, exits.RESUMABLE)

    def test_an_encoder_has_the_prices_of_its_objective(self):
        run = self.ended("bert", BERT)
        prices = run.result()["leaner"]
        self.assertEqual([price["file"] for price in prices], [None, "model.safetensors", "int8.safetensors"])
        self.assertIsNone(prices[2]["bits_per_char"])
        wanted = {"model": {**BERT["model"], "family": "bert", "kv_heads": 2}, "objective": {"name": "masked"},
                  "batch": BERT["batch"]}
        arranged = session.setup_of({}, self.place / "again", self.rows_of_split(), **wanted)
        shape = arranged.config.model
        form = initial.Initial(run.run_dir / "export")
        scores = HeldOut(arranged, session.Recorder()).score(jax.device_put(form.parameters(shape)), lambda: False)
        self.assertAlmostEqual(scores["loss"], prices[1]["loss"], delta=1e-5)
        self.assertEqual(scores["targets"], prices[1]["targets"])

    def test_without_the_section_nothing_is_told(self):
        run = self.ended("plain", runs.TINY)
        self.assertNotIn("leaner", run.result())
        self.assertNotIn("export", json.loads((run.run_dir / "config.json").read_text()))
        self.assertNotIn("export", run.of("hello")[0]["config"])
        self.assertNotIn("Leaner", (run.run_dir / "export/README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
