"""A run that begins with another model: its shape, its tokenizer, its parameters, and how it fails."""

import dataclasses
import json
import tempfile
import unittest
from pathlib import Path

import runs
import session
import tiny_tokenizer
import xla_flags

import jax
import numpy as np

from pipe_trainer import config, exits
from pipe_trainer.checkpoints import resume
from pipe_trainer.data import sentencepiece_model
from pipe_trainer.export import export, initial, safetensors
from pipe_trainer.model import model

SHAPE = config.Model(layers=2, d=32, heads=2, ff=48, vocab=384, seq_len=32).complete()


def write_export(place, shape=SHAPE, seed=3):
    """Returns its parameters."""
    params = jax.device_get(model.init(shape, jax.random.key(seed)))
    export.write(params, shape, {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}, {}, place)
    return params


def pieces():
    return sentencepiece_model.read(tiny_tokenizer.path().read_bytes()).pieces


class Directories(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name) / "export"
        self.params = write_export(self.place)

    def refused(self, *words, place=None):
        with self.assertRaises((exits.Ended, exits.BadJob)) as caught:
            initial.Initial(place or self.place)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def settings(self, **changed):
        file = self.place / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))

    def test_a_run_its_export_and_the_file_are_the_same(self):
        for place in (self.place, self.place.parent, self.place / "model.safetensors"):
            start = initial.Initial(place)
            found = start.parameters(dataclasses.replace(start.shape, seq_len=32))
            jax.tree.map(np.testing.assert_array_equal, found, self.params)

    def test_every_family_comes_back_as_it_was(self):
        for number, shape in enumerate((
                dataclasses.replace(SHAPE, tied=False), dataclasses.replace(SHAPE, family="bert", exact_gelu=True),
                dataclasses.replace(SHAPE, family="t5"), dataclasses.replace(SHAPE, family="t5", tied=False))):
            place = self.place.with_name(f"export{number}")
            params = jax.device_get(model.init(shape, jax.random.key(number)))
            start_id = {"start": 0} if shape.family == "t5" else {}
            export.write(params, shape, {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}, {}, place, **start_id)
            start = initial.Initial(place)
            whole = start.adopt(config.Config(), ()).model
            self.assertEqual({key: getattr(whole, key) for key in config.SHAPE},
                             {key: getattr(shape, key) for key in config.SHAPE})
            jax.tree.map(lambda ours, theirs: np.testing.assert_allclose(ours, theirs, atol=1e-7),
                         start.parameters(dataclasses.replace(shape, seq_len=32)), params)

    def test_keys_that_a_training_decides_are_keys_and_the_directory_decides_the_others(self):
        self.assertLessEqual(set(config.OF_TRAINING), {part.name for part in dataclasses.fields(config.Model)})
        self.assertEqual(config.SHAPE, ("family", "layers", "d", "heads", "kv_heads", "head_dim", "ff", "experts",
                                        "vocab", "tied", "rope_theta", "norm_eps", "exact_gelu", "gated"))

    def test_a_shape_that_the_job_names_must_be_that_of_the_model(self):
        start = initial.Initial(self.place)
        wanted = config.Config(model=dataclasses.replace(SHAPE, layers=3))
        self.assertEqual(start.adopt(wanted, ()).model.layers, 2)
        with self.assertRaises(exits.BadJob) as caught:
            start.adopt(wanted, ("layers", "remat"))
        self.assertIn("config.model.layers: 3, and the model of init_from", str(caught.exception))

    def test_an_id_with_another_piece_is_named(self):
        start, ours = initial.Initial(self.place), pieces()
        start.check_tokenizer(ours)
        other = [*ours[:9], ("別", 0, 1), *ours[10:]]
        for file in ("tokenizer.model", "tokenizer.json"):
            with self.assertRaises(exits.Ended) as caught:
                start.check_tokenizer(other)
            for word in (file, f"the piece {ours[9][0]!r} for id 9", "'別'"):
                self.assertIn(word, str(caught.exception))
            (self.place / file).unlink()
        (self.place / "vocab.txt").write_text("猫\n犬\n", encoding="utf-8")
        with self.assertRaisesRegex(exits.Ended, "vocab.txt: has no piece for id 2"):
            start.check_tokenizer([("猫", 0, 1), ("犬", 0, 1), ("鳥", 0, 1)])
        (self.place / "vocab.txt").write_bytes(b"\xff\n")
        with self.assertRaisesRegex(exits.Ended, "vocab.txt: 'utf-8' codec"):
            start.check_tokenizer(ours)
        (self.place / "vocab.txt").unlink()
        with self.assertRaisesRegex(exits.Ended, "no tokenizer beside the model"):
            start.check_tokenizer(ours)

    def test_models_that_this_trainer_does_not_compute_are_refused(self):
        self.settings(rope_scaling={"type": "linear"})
        self.refused("rope_scaling", "knows null alone")
        self.settings(rope_scaling=None, model_type="gpt2")
        self.refused("type gpt2", "llama, bert, t5")
        self.settings(model_type="t5", num_layers=2, feed_forward_proj="gelu")
        self.refused("feed_forward_proj is gelu", "gated-gelu", "relu")
        self.settings(model_type="llama", hidden_size=None)
        self.refused("config.json is not as this trainer reads it")
        (self.place / "config.json").write_text("[1")
        self.refused("is not JSON")

    def test_missing_and_other_weights_are_refused_with_a_remedy(self):
        self.refused("there is no model.safetensors", place=self.place.parent / "nowhere")
        (self.place / "model.safetensors").rename(self.place / "model-00001-of-00002.safetensors")
        self.refused("in several files without model.safetensors.index.json")
        (self.place / "model-00001-of-00002.safetensors").rename(self.place / "pytorch_model.bin")
        self.refused("safe_serialization=True")

    def in_parts(self):
        """Writes the weights as several files, beside which model.safetensors has others. One of whole numbers, as
        older models have it, is left out."""
        whole = safetensors.read(self.place / "model.safetensors")
        files = {name: f"model-0000{1 + number % 3}-of-00003.safetensors" for number, name in enumerate(whole)}
        for file in set(files.values()):
            safetensors.write(self.place / file, [("places", (3,), lambda: np.arange(3, dtype=np.int8), "I8"),
                                                  *((name, values.shape, lambda values=values: values)
                                                    for name, values in whole.items() if files[name] == file)])
        (self.place / "model.safetensors.index.json").write_text(json.dumps(
            {"weight_map": {**files, "places": max(files.values())}}))
        other = self.place.with_name("other")
        write_export(other, seed=5)
        (other / "model.safetensors").rename(self.place / "model.safetensors")
        return files

    def test_weights_in_several_files_are_read_by_their_index(self):
        self.in_parts()
        index = self.place / "model.safetensors.index.json"
        length = dataclasses.replace(SHAPE, seq_len=32)
        (self.place / "export").mkdir()  # of another model: a file that is named lies where it is named
        (self.place / "export/model.safetensors").write_bytes(b"")
        start = initial.Initial(index)
        (self.place / "export/model.safetensors").unlink()
        other = initial.Initial(self.place)
        self.assertNotEqual(start.digest, other.digest)
        jax.tree.map(np.testing.assert_array_equal, start.parameters(length), self.params)
        with self.assertRaises(AssertionError):
            jax.tree.map(np.testing.assert_array_equal, other.parameters(length), self.params)
        (self.place / "model.safetensors").unlink()
        jax.tree.map(np.testing.assert_array_equal, initial.Initial(self.place).parameters(length), self.params)
        part = self.place / "model-00002-of-00003.safetensors"
        before = start.digest
        part.write_bytes(part.read_bytes()[:-1] + b"\1")
        self.assertNotEqual(initial.Initial(index).digest, before)
        part.unlink()
        start = initial.Initial(index)
        for do in (lambda: start.parameters(length), lambda: start.digest):
            with self.assertRaisesRegex(exits.Ended, "init_from: .*model-00002-of-00003"):
                do()

    def test_an_index_that_is_wrong_is_refused(self):
        files = self.in_parts()
        index = self.place / "model.safetensors.index.json"
        for wrong in ("{", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": 1}}', '{"weight_map": {"a": "a.bin"}}',
                      '{"weight_map": {"a": "../a.safetensors"}}', '{"weight_map": {"a": "/a.safetensors"}}'):
            index.write_text(wrong)
            self.refused("index.json: is no index of safetensors", place=index)
        index.write_text(json.dumps({"weight_map": {name: min(files.values()) for name in files}}))
        with self.assertRaisesRegex(exits.Ended, "index.json: has no tensor 'model.*' of F64, F32, BF16, F16"):
            initial.Initial(index).parameters(dataclasses.replace(SHAPE, seq_len=32))

    def test_models_of_bert_with_the_names_of_their_first_years_are_read(self):
        shape = dataclasses.replace(SHAPE, family="bert")
        place = self.place.with_name("bert")
        params = write_export(place, shape)
        file = place / "model.safetensors"
        found = safetensors.read(file)
        old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): values
               for name, values in found.items()}
        self.assertNotEqual(old.keys(), found.keys())
        parts = [(name, values.shape, lambda values=values: values) for name, values in old.items()]
        # In their files is a table of the positions, in whole numbers.
        safetensors.write(file, [("bert.embeddings.position_ids", (3,), lambda: np.arange(3, dtype=np.int8), "I8"), *parts])
        jax.tree.map(np.testing.assert_array_equal,
                     initial.Initial(place).parameters(dataclasses.replace(shape, seq_len=32)), params)

    def test_tensors_that_do_not_fit_are_refused(self):
        self.settings(num_hidden_layers=3)
        start = initial.Initial(self.place)
        with self.assertRaisesRegex(exits.Ended, "has no tensor 'model.layers.2"):
            start.parameters(dataclasses.replace(start.shape, seq_len=32))
        self.settings(num_hidden_layers=2, intermediate_size=50)
        start = initial.Initial(self.place)
        with self.assertRaisesRegex(exits.Ended, "another shape than config.json says"):
            start.parameters(dataclasses.replace(start.shape, seq_len=32))
        (self.place / "model.safetensors").write_bytes(b"damaged")
        with self.assertRaisesRegex(exits.Ended, "init_from: .*model.safetensors: damaged"):
            start.parameters(dataclasses.replace(start.shape, seq_len=32))

    def test_rows_longer_than_the_positions_are_refused(self):
        shape = dataclasses.replace(SHAPE, family="bert")
        place = self.place.with_name("positions")
        write_export(place, shape)
        start = initial.Initial(place)
        self.assertEqual(start.parameters(dataclasses.replace(shape, seq_len=8))["position_embed"].shape, (8, 32))
        with self.assertRaisesRegex(exits.BadJob, "rows of 33 ids, and the model of init_from .* has 32 positions"):
            start.parameters(dataclasses.replace(shape, seq_len=33))

    def test_checkpoints_of_earlier_versions_that_lack_a_key_have_its_default(self):
        rows = session.random_rows()
        arranged = session.setup_of({}, self.place, rows)
        facts = resume.facts_of(arranged)
        del facts["model"]["exact_gelu"]
        resume.check(arranged, "checkpoint", facts)
        other = dataclasses.replace(arranged.config.model, exact_gelu=True)
        with self.assertRaisesRegex(exits.Ended, "made with exact_gelu False, and the job says True"):
            resume.check(dataclasses.replace(arranged, config=dataclasses.replace(arranged.config, model=other)),
                         "checkpoint", facts)


class WholeRuns(runs.WithTokenizer):
    """As processes."""

    def test_a_training_begins_with_the_model_on_every_mesh_and_goes_on_bit_for_bit(self):
        first = self.run_here("first", steps=8, export=True, config=runs.TINY)
        self.assertEqual(first.end(), 0, first.log_end())
        more = {"export": True, "config": {"preset": "tiny", "batch": {"rows": 4}, "optimizer": {"lr": 1e-12},
                                           "schedule": {"name": "const"}},
                "init_from": str(first.run_dir), "steps": 8}
        second = self.run_here("second", **more)
        self.assertEqual(second.end(), 0, second.log_end())
        card = (second.run_dir / "export/README.md").read_text(encoding="utf-8")
        self.assertIn("| began with | `first/run` |", card)
        # With no rate to speak of, it is still the model that it began with.
        self.assertAlmostEqual(second.result()["final"]["loss"], first.result()["final"]["loss"], places=5)
        parted = self.run_here("parted", environ={"XLA_FLAGS": xla_flags.with_devices(4)},
                               **{**more, "config": {**more["config"], "mesh": {"fsdp": 2, "tensor": 2}}})
        self.assertEqual(parted.end(), 0, parted.log_end())
        self.assertAlmostEqual(parted.result()["final"]["loss"], first.result()["final"]["loss"], places=4)
        killed = self.run_here("killed", **more)
        killed.wait_for("ckpt_commit", step=4)
        killed.kill()
        again = self.run_here("killed", **more)
        self.assertEqual(again.end(), 0, again.log_end())
        self.assertEqual(again.result()["final"], second.result()["final"])

    def test_a_model_of_another_tokenizer_ends_with_65(self):
        write_export(self.place / "other/export")
        (self.place / "other/export/tokenizer.model").unlink()
        (self.place / "other/export/tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}}')
        run = self.run_here("wrong", init_from=str(self.place / "other"))
        self.assertEqual(run.end(), 65, run.log_end())
        self.assertIn("tokenizer.json: has the piece 'a' for id 0", run.log_end())


if __name__ == "__main__":
    unittest.main()
