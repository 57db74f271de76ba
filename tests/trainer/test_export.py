"""Exports: the same logits as from a forward pass written from the description of Llama, with numpy alone."""

import json
import struct
import tempfile
import unittest
from pathlib import Path

import jax
import numpy as np

import llama_forward
import places
import tensor_files
import tiny_tokenizer
from pipe_trainer import config as configs
from pipe_trainer.data import sentencepiece_model
from pipe_trainer.data.text import Rule
from pipe_trainer.export import export, model_card, safetensors
from pipe_trainer.model import model
from pipe_trainer.objectives import registry

FACTS = {
    "name": "train", "recipe": "ab" * 16, "seed": 1, "steps": 20, "tokens": 4096, "params": 12345,
    "evaluation": {"loss": 2.5, "ppl": 12.2, "bits_per_byte": 1.1, "bits_per_char": 2.7, "unk_rate": 0.0,
                   "targets": 100, "bytes": 300, "chars": 120},
    "baselines": [{"name": "bigram_kn", "nats_per_token": 3.0, "bits_per_byte": 1.3, "bits_per_char": 3.1}],
    "lineage": {"data": {"recipe": "cd" * 16, "content": "ef" * 16, "lineage": [
        {"stage": "source", "type": "download", "version": 1, "config": {"url": "a|b"},
         "sources": [{"name": "corpus.txt.xz", "digest": "12" * 16}]},
        {"stage": "clean", "type": "normalize", "version": 2, "config": {"form": "nfkc"}}]}},
    "samples": [{"prompt": "猫が", "text": "鳴く\n犬"}],
}


def config_of(**fields):
    defaults = {"layers": 2, "d": 32, "heads": 4, "ff": 48, "vocab": 300, "seq_len": 16}
    return configs.Model(**{**defaults, **fields}).complete()


def params_of(config, seed=0):
    """Norms that are not all ones: otherwise a missing norm would not be noticed."""
    params = model.init(config, jax.random.key(seed))
    chance = np.random.default_rng(seed)
    params["final_norm"] = chance.uniform(0.5, 1.5, config.d).astype(np.float32)
    for name in ("attn_norm", "mlp_norm"):
        params["blocks"][name] = chance.uniform(0.5, 1.5, (config.layers, config.d)).astype(np.float32)
    return jax.tree.map(lambda leaf: np.asarray(leaf) * (6 if leaf.ndim > 2 else 1), params)


def llama_logits(directory, ids):
    settings = json.loads((directory / "config.json").read_text())
    return llama_forward.logits(settings, tensor_files.read(directory / "model.safetensors"), ids)


class ExportTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name) / "export"
        self.tokenizer = {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}

    def write(self, config, params=None, **choices):
        params = params_of(config) if params is None else params
        export.write(params, config, self.tokenizer, FACTS, self.place, **choices)
        return params

    def test_numpy_forward_of_the_file_gives_the_same_logits(self):
        for fields in ({}, {"kv_heads": 2}, {"tied": False, "heads": 2, "head_dim": 24},
                       {"rope_theta": 500.0}):
            with self.subTest(fields):
                config = config_of(**fields)
                params = self.write(config)
                ids = np.array([2, 7, 260, 299, 5, 5, 31, 8, 100, 4, 77, 12])
                hidden = model.forward(params, config, ids[None])
                ours = np.asarray(model.logits(params, config, hidden))[0, :, :config.vocab]
                theirs = llama_logits(self.place, ids)
                self.assertGreater(np.abs(theirs).max(), 0.3)  # otherwise the tolerance would mean nothing
                self.assertLess(np.abs(ours - theirs).max(), 1e-4)

    def test_what_is_read_back_is_what_was_written(self):
        config = config_of(kv_heads=2, tied=False)
        params = self.write(config)
        back, config_back, facts = export.read(self.place)
        self.assertEqual(config_back, config)
        self.assertEqual(facts["normalize"], [Rule("nfkc")._asdict()])
        self.assertEqual(facts["tokenizer"]["newline_id"], 4)
        for name in ("embed", "final_norm", "head"):
            ours = params[name]
            if name == "embed":
                ours = ours[:config.vocab]
                self.assertFalse(back[name][config.vocab:].any())
            found = back[name][:, :config.vocab] if name == "head" else back[name][:len(ours)]
            np.testing.assert_array_equal(found, ours[:, :config.vocab] if name == "head" else ours)
        for name, leaf in params["blocks"].items():
            np.testing.assert_array_equal(back["blocks"][name], leaf)

    def test_files_name_what_the_model_is(self):
        self.write(config_of())
        settings = json.loads((self.place / "config.json").read_text())
        self.assertEqual((settings["vocab_size"], settings["bos_token_id"], settings["eos_token_id"],
                          settings["pad_token_id"]), (300, 2, 2, 0))
        special = json.loads((self.place / "special_tokens_map.json").read_text())
        self.assertEqual(special, {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "<unk>",
                                   "pad_token": "<pad>"})
        self.assertEqual((self.place / "tokenizer.model").read_bytes(), tiny_tokenizer.path().read_bytes())
        card = (self.place / "README.md").read_text(encoding="utf-8")
        for said in ("ab" * 16, "12" * 16, "2.7000", "3.1000", "a\\|b", "鳴く", "12,345"):
            self.assertIn(said, card)
        self.assertEqual(sorted(path.name for path in self.place.iterdir()), [
            "README.md", "config.json", "generation_config.json", "model.safetensors", "pipe.json",
            "special_tokens_map.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json"])

    def test_the_tokenizer_carries_the_normaliser_of_the_corpus(self):
        """tests/oracle/export_tokenizer_test.py checks that transformers makes our ids with it."""
        self.write(config_of())
        whole = json.loads((self.place / "tokenizer.json").read_text(encoding="utf-8"))
        self.assertEqual([step["type"] for step in whole["normalizer"]["normalizers"]], ["NFKC", "Replace", "Strip", "Replace"])
        self.assertEqual((whole["model"]["type"], whole["model"]["byte_fallback"], whole["model"]["unk_id"]),
                         ("Unigram", True, 3))
        self.assertEqual([(token["content"], token["special"]) for token in whole["added_tokens"]],
                         [("<pad>", True), ("<s>", True), ("</s>", True), ("<unk>", True), ("\n", False)])
        self.assertIn("brings a prompt to the form of the corpus (NFKC, single spaces)",
                      (self.place / "README.md").read_text(encoding="utf-8"))

    def test_damaged_tokenizers_never_crash(self):
        whole, make = tiny_tokenizer.path().read_bytes(), np.random.default_rng(0)
        for _ in range(300):
            data = bytearray(whole[:int(make.integers(0, 3000))])
            for at in make.integers(0, max(len(data), 1), 3):
                data[at:at + 1] = bytes([int(make.integers(0, 256))])
            try:
                sentencepiece_model.read(bytes(data))
            except sentencepiece_model.BadModel:
                pass

    def test_a_card_names_who_normalises_where_there_is_no_tokenizer_json(self):
        card = model_card.text(config_of(), tiny_tokenizer.INFO, {"rules": (Rule("nfkc"),), "tokenizer_json": False})
        self.assertIn("Bring a prompt to the form of the corpus first (NFKC, single spaces)", card)
        few = [{**FACTS["baselines"][0], "train_targets": 10, "train_targets_of": 2000}]
        self.assertIn("counted on 10 of 2,000 training targets",
                      model_card.text(config_of(), tiny_tokenizer.INFO, {**FACTS, "baselines": few}))

    def test_a_card_without_facts_says_only_what_is_known(self):
        card = model_card.text(config_of(), tiny_tokenizer.INFO, {})
        self.assertNotIn("## Measured", card)
        self.assertNotIn("## Lineage", card)
        self.assertNotIn("None", card)

    def test_keys_of_another_objective_do_not_reach_it(self):
        given = registry.of(configs.Config(objective=configs.ObjectiveKeys(mask_id=5, start=7))).completed(61)[0]
        self.assertEqual(registry.of(given).marks(), [])
        params = jax.device_get(model.init(config_of(), jax.random.key(0)))
        export.write(params, config_of(), self.tokenizer, {}, self.place, start=given.objective.start)
        self.assertNotIn("decoder_start_token_id", json.loads((self.place / "config.json").read_text()))

    def test_an_older_export_is_replaced_as_a_whole(self):
        self.write(config_of())
        (self.place / "stray").write_text("")
        self.write(config_of(), params_of(config_of(), 5))
        self.assertFalse((self.place / "stray").exists())
        self.assertEqual([path.name for path in self.place.parent.iterdir()], ["export"])

    def test_a_model_without_counterpart_is_refused(self):
        config = config_of(family="lm1b", tied=False)
        self.assertRaisesRegex(export.NotExportable, "lm1b", self.write, config, {})
        self.assertFalse(self.place.exists())

    def test_the_safetensors_package_reads_the_same(self):
        try:
            from safetensors.numpy import load_file
        except ImportError:
            self.skipTest("the package safetensors is not in the lock")
        self.write(config_of(tied=False))
        path = self.place / "model.safetensors"
        theirs, ours = load_file(path), safetensors.read(path)
        self.assertEqual(theirs.keys(), ours.keys())
        for name, values in theirs.items():
            np.testing.assert_array_equal(values, ours[name])

    def test_tensors_in_16_bits_are_read(self):
        values = np.array([[0.1, -3.0, 65504.0], [0.0, 1e-3, 7.5]], np.float32)
        for kind, narrow in (("BF16", values.astype(jax.numpy.bfloat16)), ("F16", values.astype(np.float16))):
            header = json.dumps({"w": {"dtype": kind, "shape": [2, 3], "data_offsets": [0, 12]}}).encode()
            file = self.place.with_name(kind)
            file.write_bytes(struct.pack("<Q", len(header)) + header + narrow.tobytes())
            np.testing.assert_array_equal(safetensors.read(file)["w"], narrow.astype(np.float32))

    def test_damaged_safetensors_are_refused(self):
        self.write(config_of())
        path = self.place / "model.safetensors"
        whole = path.read_bytes()
        header = struct.unpack("<Q", whole[:8])[0]
        for damage in (b"", whole[:7], whole[:-1], whole + b"\0", b"\xff" * 8 + whole[8:],
                       whole[:8] + b"[" + whole[9:],
                       whole[:8] + whole[8:8 + header].replace(b"F32", b"Q32") + whole[8 + header:],
                       whole[:8] + b"{}".ljust(header) + whole[8 + header:]):
            path.write_bytes(damage)
            self.assertRaises(safetensors.SafetensorsError, safetensors.read, path)


if __name__ == "__main__":
    unittest.main()
