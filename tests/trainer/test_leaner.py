"""Leaner exports: the weights that pruning takes, the error of 8 bits, the bytes of GGUF, their prices, refusals."""

import dataclasses
import hashlib
import json
import struct
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import piece_models
import session
import tensor_files
import tiny_tokenizer
import numpy as np

from pipe_trainer import config as configs
from pipe_trainer import exits
from pipe_trainer.data import sentencepiece_model
from pipe_trainer.export import costs, export, gguf, gguf_llama, gguf_tokenizer, int8, leaner
from pipe_trainer.model.model import shapes
from pipe_trainer.run import setup

EXPORT = configs.Export


def counted(*shape):
    """Weights of both signs, in which a few are equal."""
    numbers = np.arange(np.prod(shape), dtype=np.float32)
    return ((numbers * 37 % 101 - 50) / 64).reshape(shape)


def tiny_llama(**fields):
    """A model without a random number in it: (params, config)."""
    config = configs.Model(**{"layers": 2, "d": 32, "heads": 2, "kv_heads": 1, "ff": 48, "vocab": 302, "seq_len": 16,
                              **fields}).complete()
    blocks = {name: counted(*leaf.shape) for name, leaf in shapes(config)["blocks"].items()}
    return {"embed": counted(config.padded_vocab, config.d), "blocks": blocks, "final_norm": counted(config.d)}, config


class Pruning(unittest.TestCase):
    def test_the_least_weights_go_and_the_others_stay(self):
        matrix = np.float32([[3, -1, 2], [-0.5, 4, -2]])
        for share, wanted in ((0, matrix), (0.34, [[3, 0, 2], [0, 4, -2]]), (0.5, [[3, 0, 0], [0, 4, -2]]),
                              (0.99, [[0, 0, 0], [0, 4, 0]])):
            np.testing.assert_array_equal(leaner.without_least(matrix, share), wanted)
        np.testing.assert_array_equal(matrix[0], [3, -1, 2])

    def test_of_equal_weights_the_first_go(self):
        equal = np.ones((3, 4), np.float32)
        np.testing.assert_array_equal(leaner.without_least(equal, 0.5).ravel(), [0] * 6 + [1] * 6)

    def test_every_matrix_of_a_layer_loses_its_share_and_nothing_else_does(self):
        params, config = tiny_llama()
        before = list(export.FORMS["llama"].tensors_of(params, config))
        for (name, shape, was), (_, _, now) in zip(before, leaner.pruned(before, 0.75)):
            matrix = name.startswith("model.layers.") and "norm" not in name
            self.assertEqual(leaner.is_of_layer(name, shape), matrix, name)
            if matrix:
                self.assertEqual(int((now() == 0).sum()), max(int(0.75 * now().size), int((was() == 0).sum())))
            else:
                np.testing.assert_array_equal(was(), now())

    def test_matrices_of_the_other_families(self):
        for name in ("bert.encoder.layer.0.attention.self.query.weight", "encoder.block.1.layer.0.SelfAttention.q.weight",
                     "decoder.block.0.layer.2.DenseReluDense.wo.weight"):
            self.assertTrue(leaner.is_of_layer(name, (4, 4)) and leaner.is_in_8_bits(name, (4, 4)), name)
        for name in ("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                     "bert.embeddings.position_embeddings.weight", "cls.predictions.transform.dense.weight"):
            self.assertFalse(leaner.is_of_layer(name, (4, 4)) or leaner.is_in_8_bits(name, (4, 4)), name)
        self.assertFalse(leaner.is_of_layer("shared.weight", (4, 4)))
        self.assertTrue(leaner.is_in_8_bits("shared.weight", (4, 4)))


class EightBits(unittest.TestCase):
    def test_no_weight_is_off_by_more_than_half_a_scale_of_its_output(self):
        matrix = np.random.default_rng(0).normal(size=(40, 64)).astype(np.float32) * np.geomspace(1e-6, 1e4, 40)[:, None]
        matrix = np.concatenate([matrix.astype(np.float32), np.zeros((1, 64), np.float32)])
        numbers, scales = int8.quantised(matrix)
        self.assertEqual((numbers.dtype, scales.shape), (np.int8, (41,)))
        np.testing.assert_array_equal(np.abs(numbers[:40]).max(axis=1), [127] * 40)
        off = np.abs(numbers.astype(np.float64) * scales[:, None].astype(np.float64) - matrix)
        self.assertTrue((off <= scales[:, None] * 0.50001).all())
        np.testing.assert_array_equal(int8.as_read(matrix)[40], np.zeros(64))

    def test_the_file_is_as_its_page_says(self):
        params, config = tiny_llama()
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "int8.safetensors"
            tensors = list(export.FORMS["llama"].tensors_of(params, config))
            int8.write(path, tensors, leaner.is_in_8_bits)
            found = tensor_files.read_int8(path)
        wanted = leaner.as_read(tensors, "int8")
        self.assertEqual(found.keys(), wanted.keys())
        for name, values in wanted.items():
            np.testing.assert_array_equal(found[name], values, name)
        exact = {name for name, _, values in tensors if np.array_equal(values(), wanted[name])}
        self.assertEqual({name for name in exact if "norm" not in name}, set())


class Gguf(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def test_the_example_of_the_page(self):
        made = self.place / "made"
        block = np.float32([[127, -63.5, 1.5, -0.5] + [0] * 28])
        gguf.write(made, {"general.architecture": ("text", "llama")}, [("w", (1, 32), lambda: block)], "q8_0")
        page = (session.places.PACKAGE / "exports.md").read_text(encoding="utf-8")
        shown = page.split("```hex\n")[1].split("```")[0]
        self.assertEqual(made.read_bytes(), bytes.fromhex("".join(line.split("  ")[0] for line in shown.splitlines())))

    def test_a_tiny_model_is_always_the_same_bytes(self):
        params, config = tiny_llama()
        model = sentencepiece_model.read(tiny_tokenizer.path().read_bytes())
        for kind, digest in (("f16", "59903dd8ac5709b70cc962045cb7a999"), ("q8_0", "e19c8a0ecc413cfb672910e864fa283d")):
            path = self.place / kind
            gguf_llama.write(path, list(export.FORMS["llama"].tensors_of(params, config)), config, tiny_tokenizer.INFO, model,
                             "tiny", kind)
            self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest()[:32], digest, kind)

    def test_readers_have_what_the_bytes_say(self):
        make = np.random.default_rng(1)
        for shape in ((5, 64), (5, 48), (7,)):
            values = make.normal(size=shape).astype(np.float32)
            for kind in ("f16", "q8_0"):
                data = gguf.as_bytes("w", values, kind)
                self.assertEqual(len(data), gguf.size_of(shape, kind))
                np.testing.assert_array_equal(decoded(data, shape, kind), gguf.as_read("w", values, kind))
        values = make.normal(size=(9, 64)).astype(np.float32)
        off = np.abs(gguf.as_read("w", values, "q8_0") - values).reshape(9, 2, 32)
        scale = np.abs(values).reshape(9, 2, 32).max(-1, keepdims=True) / 127
        self.assertTrue((off <= scale * 0.57).all())  # a half, and 127 times the error of a scale in float16

    def test_a_weight_beyond_float16_leaves_its_file_out(self):
        params, config = tiny_llama()
        params["blocks"]["wq"] = params["blocks"]["wq"] * 1e6
        told = []
        _, rows, files = costs.measured(params, config, EXPORT(gguf="both"), {"loss": 1.0},
                                        lambda other: {"loss": 2.0}, told.append)
        self.assertEqual(files, {"model-q8_0.gguf": "q8_0"})
        self.assertEqual([row["file"] for row in rows], ["model.safetensors", "model-q8_0.gguf"])
        self.assertRegex(told[0], "model-f16.gguf is left out: model.layers.0.self_attn.q_proj.weight: .* float16")

    def test_tokenizers_that_llama_cpp_reads_otherwise_are_refused(self):
        unigram, bpe = (tiny_model(kind) for kind in (piece_models.UNIGRAM, piece_models.BPE))
        self.assertIsNone(gguf_tokenizer.refusal(unigram))
        self.assertIsNone(gguf_tokenizer.refusal(bpe))
        for model, word in ((tiny_model(4), "neither"), (changed(unigram, squeeze=True), "extra spaces"),
                            (changed(unigram, escape=False), "▁"), (changed(unigram, suffix=True), "▁"),
                            (changed(unigram, pieces=unigram.pieces[:3]), "unknown"),
                            (changed(bpe, byte_fallback=False), "without bytes"), (changed(bpe, squeeze=True), "changes"),
                            (changed(bpe, charsmap=b"1"), "changes"),
                            (changed(bpe, pieces=[*bpe.pieces, ("x", 0.0, 5)]), "unused")):
            self.assertIn(word, gguf_tokenizer.refusal(model))

    def test_metadata_of_the_tokenizer(self):
        found = gguf_tokenizer.metadata_of(tiny_model(piece_models.UNIGRAM), tiny_tokenizer.INFO, 302)
        found = {key.removeprefix("tokenizer.ggml."): value for key, (_, value) in found.items()}
        self.assertEqual([found["tokens"][number] for number in (2, 4, 300, 301)], ["</s>", "\n", "[PAD300]", "[PAD301]"])
        self.assertEqual((found["token_type"][2:6], found["token_type"][300:]), ([3, 2, 4, 6], [5, 5]))
        self.assertEqual([found[f"{name}_token_id"] for name in ("bos", "eos", "unknown", "padding")], [2, 2, 3, 0])
        self.assertEqual((found["model"], found["add_bos_token"], found["add_eos_token"], found["add_space_prefix"]),
                         ("t5", True, False, False))
        self.assertEqual(len(found["scores"]), 302)
        merged = gguf_tokenizer.metadata_of(tiny_model(piece_models.BPE), tiny_tokenizer.INFO, 300)
        self.assertEqual(merged["tokenizer.ggml.model"], ("text", "llama"))


def tiny_model(kind):
    return sentencepiece_model.read(piece_models.model_of([(f"p{number}", -float(number)) for number in range(39)], kind))


def changed(model, **fields):
    return dataclasses.replace(model, **fields)


def decoded(data, shape, kind):
    """Reads a tensor by the page."""
    if len(shape) == 1:
        return np.frombuffer(data, "<f4")
    if kind == "f16" or shape[1] % 32:
        return np.frombuffer(data, "<f2").astype(np.float32).reshape(shape)
    values = [np.float32(struct.unpack("<e", data[at:at + 2])[0]) * np.frombuffer(data[at + 2:at + 34], "i1")
              for at in range(0, len(data), 34)]
    return np.concatenate(values).reshape(shape)


class Files(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name) / "export"
        self.tokenizer = {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}
        self.files = leaner.files_of(EXPORT(int8=True, gguf="both"))

    def bytes_of(self):
        return {path.name: path.read_bytes() for path in self.place.iterdir()}

    def test_they_lie_beside_the_plain_export_and_change_nothing_of_it(self):
        params, config = tiny_llama()
        export.write(params, config, self.tokenizer, {}, self.place)
        plain = self.bytes_of()
        export.write(params, config, self.tokenizer, {}, self.place, files=self.files)
        first = self.bytes_of()
        self.assertEqual(first.keys() - plain.keys(), {"int8.safetensors", "model-f16.gguf", "model-q8_0.gguf"})
        self.assertEqual({name: first[name] for name in plain}, plain)
        export.write(params, config, self.tokenizer, {}, self.place, files=self.files)
        self.assertEqual(self.bytes_of(), first)

    def test_an_export_that_fails_leaves_the_one_before(self):
        params, config = tiny_llama()
        export.write(params, config, self.tokenizer, {}, self.place)
        before = self.bytes_of()
        with mock.patch.object(gguf.os, "fsync", side_effect=[None, OSError(28, "No space left on device")]):
            self.assertRaises(OSError, export.write, params, config, self.tokenizer, {}, self.place, files=self.files)
        self.assertEqual(self.bytes_of(), before)

    def test_the_card_tells_the_price(self):
        params, config = tiny_llama()
        scores = {"loss": 2.5, "bits_per_byte": 1.1, "bits_per_char": 2.7, "bytes": 300, "targets": 1000}
        rows = [costs.row(None, "float32", {**scores, "step": 9}), costs.row("model.safetensors", "half", scores),
                costs.row("model-q8_0.gguf", "8 bits", {**scores, "loss": 2.625})]
        facts = {"leaner": rows, "bytes_of_rows": 0.0312}
        made = export.write(params, config, self.tokenizer, facts, self.place, files={"model-q8_0.gguf": "q8_0"})
        self.assertEqual([row["bytes_of_file"] for row in made], [
            (self.place / name).stat().st_size for name in ("model.safetensors", "model.safetensors", "model-q8_0.gguf")])
        card = (self.place / "README.md").read_text(encoding="utf-8")
        for said in (f"| `model-q8_0.gguf` | 8 bits | {made[2]['bytes_of_file']:,} | 2.6250 | 1.1000 | 2.7000 |",
                     "as trained, in no file", "1,000 targets", "3.12% of the ids"):
            self.assertIn(said, card)


class Refusals(unittest.TestCase):
    def test_bad_keys_are_refused_in_one_line_before_anything_starts(self):
        for sections, words in (({"export": {"prune": 1.0}}, "config.export.prune: wants less than 1.0"),
                                ({"export": {"prune": -0.1}}, "config.export.prune: wants at least 0"),
                                ({"export": {"int8": 8}}, "config.export.int8: wants true or false"),
                                ({"export": {"gguf": "q4_0"}}, "config.export.gguf: wants one of none, f16, q8_0, both"),
                                ({"export": {"gguf": ["f16"]}}, "config.export.gguf: wants one of"),
                                ({"export": {"prun": 0.5}}, "did you mean prune"),
                                ({"model": {"family": "bert", "kv_heads": 4}, "objective": {"name": "masked"},
                                  "export": {"gguf": "f16"}}, "config.export.gguf: llama.cpp"),
                                ({"model": {"family": "lm1b", "kv_heads": 4, "tied": False}, "export": {"int8": True}},
                                 "config.export.int8: transformers")):
            session.refused(self, sections, words)

    def test_keys_without_an_export_are_refused(self):
        with self.assertRaisesRegex(exits.BadJob, "config.export: has keys, and job.export is false"):
            session.small_job("/nowhere", {"export": {"prune": 0.5}}, export=False)

    def test_a_tokenizer_is_refused_before_the_training(self):
        rows = session.random_rows()
        with tempfile.TemporaryDirectory() as place:
            rows.model_path = Path(place) / "tokenizer.model"
            rows.model_path.write_bytes(piece_models.model_of([("p", -1.0)], 4))
            asked = session.small_job(place, {"export": {"gguf": "f16"}}, export=True)
            with self.assertRaisesRegex(exits.BadJob, "config.export.gguf: .*tokenizer.model: its tokenizer is neither"):
                setup.prepare(asked, rows, rows)

    def test_a_config_without_the_section_is_told_as_before(self):
        self.assertNotIn("export", configs.as_dict(configs.Config()))
        wanted = configs.Config(export=EXPORT(prune=0.5, gguf="both"))
        for config in (wanted, configs.Config()):
            self.assertEqual(configs.of_dict(json.loads(json.dumps(configs.as_dict(config)))), config)


if __name__ == "__main__":
    unittest.main()
