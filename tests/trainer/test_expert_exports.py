"""The export of a model with experts: its files, what reads it, what is refused, and the trainings that begin with it."""

import dataclasses
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import places
import runs
import session
import tiny_tokenizer
from expert_shapes import PAIRS

import jax
import numpy as np
from packed_rows import write_packed

from pipe_trainer import config, exits, predict
from pipe_trainer.data import labels
from pipe_trainer.data.text import Text
from pipe_trainer.export import export, initial, safetensors
from pipe_trainer.model import model
from pipe_trainer.run import finished

SHAPE = config.Model(family="t5", layers=4, d=32, heads=2, ff=48, vocab=384, seq_len=32, tied=False, norm_eps=1e-6,
                     experts=3, expert_every=2, expert_top=1, expert_eval_capacity=1.5).complete()
NAMES = ("bad", "good")
LENGTH = 32


def write_export(place, shape=SHAPE, seed=3, facts=None, named=None):
    """Returns its parameters. The chances of its routers differ, as after a training."""
    params = jax.device_get(model.init(shape, jax.random.key(seed)))
    for stack in ("encoder", "decoder"):
        params[stack]["experts"]["router"] = 200 * params[stack]["experts"]["router"]
    export.write(params, shape, {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}, facts or {}, place, start=0,
                 named=named)
    return params


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name) / "export"
        self.params = write_export(self.place)

    def settings(self, **changed):
        file = self.place / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))

    def refused(self, *words):
        """Both readers refuse it, in these words and in one line."""
        def begun():
            start = initial.Initial(self.place)
            start.parameters(dataclasses.replace(start.shape, seq_len=32))
        for read in (begun, lambda: export.read(self.place)):
            with self.assertRaises((exits.Ended, ValueError, safetensors.SafetensorsError)) as caught:
                read()
            self.assertNotIn("\n", str(caught.exception))
            for word in words:
                self.assertIn(word, str(caught.exception))

    def test_it_comes_back_as_it_was(self):
        params, shape, _ = export.read(self.place)
        jax.tree.map(np.testing.assert_array_equal, params, self.params)
        self.assertEqual(shape, SHAPE)
        begun = initial.Initial(self.place).parameters(SHAPE)
        jax.tree.map(np.testing.assert_array_equal, begun, self.params)

    def test_its_tensors_have_the_names_of_t5_and_a_matrix_is_one_of_an_expert(self):
        dense, other = dataclasses.replace(SHAPE, experts=0, expert_every=4, expert_top=2, expert_eval_capacity=2.0), \
            self.place.with_name("dense")
        export.write(jax.device_get(model.init(dense, jax.random.key(0))), dense,
                     {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}, {}, other, start=0)
        with_experts, without = (set(safetensors.read(place / "model.safetensors")) for place in (self.place, other))
        self.assertLess(without, with_experts)
        self.assertEqual(len(with_experts - without), 2 * 2 * (2 + 3 * 3))
        found = safetensors.read(self.place / "model.safetensors")["decoder.block.3.experts.expert.2.wi_1.weight"]
        np.testing.assert_array_equal(found, self.params["decoder"]["experts"]["experts_up"][1, 2].T)
        self.assertEqual(sorted(path.name for path in self.place.iterdir() if not (other / path.name).exists()),
                         ["torch_model.py"])
        self.assertEqual((self.place / "torch_model.py").read_bytes(),
                         (places.PACKAGE / "pipe_trainer/export/torch_model.py").read_bytes())

    def test_its_card_is_about_the_loader(self):
        card = (self.place / "README.md").read_text(encoding="utf-8")
        for said in ("library_name: pytorch", "as many layers in the decoder with experts",
                     "| experts | 3 in every layer that 2 divides, 1 for a position; an expert takes at most 1.5 / 3 of the "
                     "positions of a row |", "torch_model.load(\".\")", "`<extra_id_0>`"):
            self.assertIn(said, card)
        self.assertNotIn("from transformers", card)

    def test_the_model_decides_the_sizes_of_its_experts_and_the_job_their_capacity(self):
        start = initial.Initial(self.place)
        wanted = config.Config(model=config.Model(family="t5", expert_eval_capacity=3.0).complete())
        found = start.adopt(wanted, ("expert_eval_capacity",)).model
        self.assertEqual([getattr(found, key) for key in ("experts", "expert_every", "expert_top", "expert_eval_capacity")],
                         [3, 2, 1, 3.0])
        for key, value in (("experts", 4), ("expert_every", 4), ("expert_top", 2)):
            other = dataclasses.replace(wanted, model=dataclasses.replace(wanted.model, **{key: value}))
            with self.assertRaisesRegex(exits.BadJob, f"config.model.{key}: {value}, and the model of init_from"):
                start.adopt(other, (key,))

    def test_a_job_with_a_dense_preset_may_name_the_capacity_of_a_model_that_is_not_known_yet(self):
        told = {"preset": "tiny-spans", "model": {"expert_capacity": 2.0}}
        found = session.job.parse({"pipe_job": 1, "run_dir": "/nowhere", "config": told, "init_from": str(self.place),
                                   "data": {"dir": "-", "train": "train", "validation": "validation"}})
        self.assertEqual(found.config.model.expert_capacity, 2.0)
        session.refused(self, {"model": told["model"]}, "config.model.expert_capacity: there are no experts")

    def test_settings_that_no_such_model_has_are_refused(self):
        for changed, said in (({"experts": 0}, "experts is 0"), ({"experts": "3"}, "experts is 3"),
                              ({"expert_every": 3}, "expert_every: 3 does not divide layers 4"),
                              ({"expert_top": 4}, "expert_top: 4, and there are 3 experts"),
                              ({"expert_eval_capacity": -1.0}, "expert_eval_capacity is -1.0"),
                              ({"feed_forward_proj": "gated-gelu"}, "feed_forward_proj is gated-gelu"),
                              ({"model_type": "nllb-moe"}, "a model of the type nllb-moe")):
            before = (self.place / "config.json").read_text()
            self.settings(**changed)
            self.refused(said)
            (self.place / "config.json").write_text(before)
        told = json.loads((self.place / "config.json").read_text())
        del told["expert_top"]
        (self.place / "config.json").write_text(json.dumps(told))
        self.refused("config.json", "'expert_top'")

    def test_weights_that_do_not_fit_are_refused(self):
        self.settings(experts=4)
        self.refused("model.safetensors", "(3, 32) instead of (4, 32)")
        self.settings(experts=3, expert_every=1)
        self.refused("model.safetensors", "encoder.block.0.experts.layer_norm.weight")
        self.settings(expert_every=2, d_ff=50)
        self.refused("model.safetensors", "(48, 32) instead of (50, 32)")
        self.settings(d_ff=48)
        whole = (self.place / "model.safetensors").read_bytes()
        (self.place / "model.safetensors").write_bytes(whole[:-4])
        self.refused("model.safetensors")

    def test_a_text_has_one_answer_whatever_is_beside_it(self):
        text = Text(tiny_tokenizer.path(), tiny_tokenizer.INFO)
        named = labels.parse([{"name": name, "ids": text.prompt_ids(name)[1:]} for name in NAMES])
        shape, place = dataclasses.replace(SHAPE, expert_eval_capacity=0.5), self.place.with_name("labels")
        told = {"name": "prefix", "start": 0}
        write_export(place, shape, named=named, facts={"config": {"objective": told}})
        answer = predict.answering(finished.find(place), 8)
        lines = ["猫が鳴く。", "犬が走る。ファイルを開く。猫が走る。", "ファイルを閉じる。"]
        self.assertEqual(answer(lines), [answer([line])[0] for line in lines])
        self.assertEqual(len(set(answer(lines))), 3)


class WholeRuns(runs.WithTokenizer):
    """As processes: hidden spans with experts, then labels from their export. A text with 猫 is good, one with 犬 is bad."""

    config = {**runs.small_pairs(PAIRS), "regularizers": {}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = Text(tiny_tokenizer.path(), tiny_tokenizer.INFO)
        cls.listed = [{"name": name, "ids": text.prompt_ids(name)[1:]} for name in NAMES]
        make = np.random.default_rng(0)
        cls.labelled = write_packed(
            cls.place / "labelled", {name: [[cls.row(text, int(make.integers(2)), make) for _ in range(count)]]
                                     for name, count in (("train", 48), ("validation", 12))},
            LENGTH, tiny_tokenizer.VOCAB, model=tiny_tokenizer.path().read_bytes(), weights=True, labels=cls.listed)
        cls.first = cls.run_of_class("first", export=True)

    @classmethod
    def run_of_class(cls, name, **members):
        run = runs.Run(cls.place / name, cls.data, config=cls.config, **members)
        if run.end():
            raise AssertionError(run.log_end())
        return run

    @classmethod
    def row(cls, text, number, make):
        said = text.prompt_ids(f"{'犬猫'[number]}が{'走る。' if make.random() < 0.5 else '鳴く。'}")[1:]
        label = cls.listed[number]["ids"]
        ids = [runs.EOS, *said, tiny_tokenizer.INFO["newline_id"], *label, runs.EOS]
        weights = [0] * (len(said) + 2) + [1] * (len(label) + 1)
        fill = LENGTH + 1 - len(ids)
        return ids + [0] * fill, len(ids), 9, 9, weights + [0] * fill

    def tuned(self, name, steps=60, **sections):
        begins = {"preset": "tiny-spans", "objective": {"name": "prefix"}, "batch": {"rows": 8},
                  "optimizer": {"name": "adamw", "lr": 5e-3, "b2": 0.99}, "schedule": {"name": "const"}}
        run = self.run_here(name, data=self.labelled, config={**begins, **sections}, steps=steps, export=True,
                            init_from=str(self.first.run_dir))
        self.assertEqual(run.end(), 0, run.log_end())
        return run

    def test_labels_are_learned_from_it_and_every_program_reads_the_result(self):
        code, said, error = runs.asked("score", "--run", self.first.run_dir, "--data", self.data, "--json", self.place / "s")
        self.assertEqual(code, 0, error)
        self.assertAlmostEqual(json.loads((self.place / "s").read_text())["loss"], self.first.result()["final"]["loss"], places=5)
        for program, lines in (("predict", b"a\n"), ("sample", None)):
            code, _, error = runs.asked(program, "--run", self.first.run_dir, lines=lines)
            self.assertEqual((code, error.count("\n")), (65, 1), error)

        run = self.tuned("tuned")
        told = json.loads((run.run_dir / "config.json").read_text())["model"]
        self.assertEqual([told[key] for key in ("experts", "expert_every", "d")], [4, 2, 32])
        scored = run.result()["final"]
        self.assertGreater(scored["accuracy"], 0.9, scored)
        code, said, error = runs.asked("score", "--run", run.run_dir, "--data", self.labelled, "--json", self.place / "s")
        self.assertEqual(code, 0, error)
        self.assertAlmostEqual(json.loads((self.place / "s").read_text())["loss"], scored["loss"], places=5)
        code, said, error = runs.asked("predict", "--run", run.run_dir, lines="猫が走る。\n犬が鳴く。\n".encode())
        self.assertEqual(code, 0, error)
        self.assertEqual([line.split("\t")[0] for line in said.splitlines()], ["good", "bad"])
        self.assertIn("| began with | `first/run` |", (run.run_dir / "export/README.md").read_text(encoding="utf-8"))

    def test_adapters_leave_its_experts_as_they_are(self):
        run = self.tuned("adapters", steps=8, lora={"rank": 2, "targets": ["wq", "w_up"]})
        before, after = (safetensors.read(one.run_dir / "export/model.safetensors") for one in (self.first, run))
        changed = {name for name in before if not np.array_equal(before[name], after[name])}
        self.assertEqual(changed, {name for name in before if ".experts." not in name
                                   and name.endswith((".q.weight", ".wi_1.weight"))})

    def test_a_run_of_an_earlier_version_that_ended_without_an_export_gets_one(self):
        run, place = self.first, self.place / "earlier"
        shutil.copytree(run.run_dir, place / "run")
        wanted = safetensors.read(place / "run/export/model.safetensors")
        shutil.rmtree(place / "run/export")
        with self.assertRaisesRegex(exits.Ended, "its training has ended without an export.*remove its result.json"):
            initial.Initial(place / "run")
        (place / "run/result.json").unlink()
        again = self.run_here("earlier", export=True)
        self.assertEqual(again.end(), 0, again.log_end())
        self.assertEqual(again.of("step"), [])
        jax.tree.map(np.testing.assert_array_equal, safetensors.read(place / "run/export/model.safetensors"), wanted)


if __name__ == "__main__":
    unittest.main()
