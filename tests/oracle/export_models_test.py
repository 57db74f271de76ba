"""Exports of each family, loaded by transformers, and models of transformers, read by our trainer: the logits are the
same. So are those of a model with experts, by the loader for torch in its export. The tokenizer of an export knows the
ids beside the text.

export_models_test.py TRAINER: TRAINER is the trainer's environment; this runs in .venv-oracle-hf.
"""

import contextlib
import functools
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "plugins/train/python/experts.md"
TRAINER = sys.argv.pop(1)
KINDS = {"llama": "AutoModelForCausalLM", "llama-untied": "AutoModelForCausalLM", "bert": "AutoModelForMaskedLM",
         "bert-labels": "AutoModelForSequenceClassification", "bert-number": "AutoModelForSequenceClassification",
         "t5": "AutoModelForSeq2SeqLM", "t5-tied": "AutoModelForSeq2SeqLM", "t5-first": "AutoModelForSeq2SeqLM"}
KINDS |= {f"{name}-lora": KINDS[name] for name in ("llama", "bert", "t5")}


SHAPE = {"vocab_size": 311, "pad_token_id": 0, "eos_token_id": 2}
STACK = {**SHAPE, "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 80,
         "max_position_embeddings": 64}
T5 = {**SHAPE, "d_model": 48, "d_kv": 16, "d_ff": 80, "num_layers": 2, "num_heads": 4, "feed_forward_proj": "gated-gelu",
      "decoder_start_token_id": 0}
MADE = {
    "bert": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**STACK)),
    "bert-tanh": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**STACK, hidden_act="gelu_new")),
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**STACK, num_key_value_heads=2,
                                                                            rope_theta=50000.0)),
    "llama-tied": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**STACK, tie_word_embeddings=True)),
    "t5": lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(**T5, tie_word_embeddings=False)),
    "t5-tied": lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(**T5)),
    "t5-first": lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(**{**T5, "feed_forward_proj": "relu"})),
}
IN_PARTS = ("llama", "t5-first")  # several files with weights, and their index


def ours(*arguments):
    subprocess.run([f"{TRAINER}/bin/python", HERE / "export_models.py", *arguments], check=True,
                   env={**os.environ, "JAX_PLATFORMS": "cpu"})
    return json.loads((arguments[-1] / "ids.json").read_text())


def logits_of(model, name, ids):
    given = {"input_ids": torch.tensor([ids["read"]])}
    if name.startswith("t5"):
        given["decoder_input_ids"] = torch.tensor([ids["given"]])
    with torch.no_grad():
        return model.eval()(**given).logits[0].numpy()


class Imports(unittest.TestCase):
    def test_the_logits_are_those_of_transformers(self):
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as place:
            models = {name: make() for name, make in MADE.items()}
            for name, model in models.items():
                with torch.no_grad():  # a fresh bias is 0 and a fresh norm 1: a wrong place of them would not show
                    for parameter in model.parameters():
                        parameter.add_(torch.randn_like(parameter) * 0.1)
                in_parts = {"max_shard_size": "40KB"} if name in IN_PARTS else {}
                model.save_pretrained(Path(place) / name, safe_serialization=True, **in_parts)
                self.assertEqual((Path(place) / name / "model.safetensors").exists(), not in_parts)
            ids = ours("--read", Path(place))
            for name, model in models.items():
                with self.subTest(name):
                    theirs = logits_of(model, name, ids)
                    self.assertGreater(np.abs(theirs).max(), 0.5)
                    found = np.load(Path(place) / f"{name}.npy")
                    self.assertEqual(found.shape, theirs.shape)
                    self.assertLess(np.abs(found - theirs).max(), 1e-4)


@functools.lru_cache
def written():
    """Returns (the directory of all exports, the ids of our logits)."""
    place = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(place.cleanup)
    return Path(place.name), ours(Path(place.name))


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.at, cls.ids = written()

    def test_the_logits_are_ours(self):
        for name, kind in KINDS.items():
            with self.subTest(name):
                model, told = getattr(transformers, kind).from_pretrained(self.at / name, output_loading_info=True)
                self.assertEqual([told[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")],
                                 [[], [], []])
                theirs, found = logits_of(model, name, self.ids), np.load(self.at / f"{name}.npy")
                self.assertGreater(np.abs(found).max(), 0.5)
                self.assertEqual(found.shape, theirs.shape)
                self.assertLess(np.abs(found - theirs).max(), 1e-4)

    def test_the_tokenizer_knows_the_mask_and_the_sentinels(self):
        masks = transformers.AutoTokenizer.from_pretrained(self.at / "bert")
        self.assertEqual(masks("猫が<mask>。")["input_ids"][-2], masks.mask_token_id)
        spans = transformers.AutoTokenizer.from_pretrained(self.at / "t5")
        vocab = json.loads((self.at / "t5/config.json").read_text())["vocab_size"]
        self.assertEqual([number for number in spans("猫が<extra_id_0>と<extra_id_1>。")["input_ids"] if number >= 300],
                         [vocab - 1, vocab - 2])

    def test_a_head_over_labels_has_their_names(self):
        told = transformers.AutoConfig.from_pretrained(self.at / "bert-labels")
        self.assertEqual(told.id2label, {0: "bad", 1: "so", 2: "good"})
        told = transformers.AutoConfig.from_pretrained(self.at / "bert-number")
        self.assertEqual((told.problem_type, told.num_labels), ("regression", 1))

    def test_a_decoder_begins_with_the_padding_and_ends_with_eos(self):
        # Not by `generate`: the torch of Debian 12 cannot import a part of itself that it asks for.
        told = transformers.AutoConfig.from_pretrained(self.at / "t5")
        self.assertEqual((told.decoder_start_token_id, told.eos_token_id, told.pad_token_id), (0, 2, 0))
        self.assertTrue(told.is_encoder_decoder and told.is_gated_act)


def loader_of(place):
    """The module `torch_model` of an export."""
    spec = importlib.util.spec_from_file_location("torch_model", place / "torch_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WithExperts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.at, _ = written()
        with np.load(cls.at / "experts.npz") as kept:
            cls.given = [torch.tensor(kept[f"arr_{number}"]) for number in range(6)]

    def logits(self, model):
        with torch.no_grad():
            return model(*self.given[:4]).numpy()

    def test_the_logits_are_ours_where_choices_find_no_room_and_beside_padding(self):
        for name in ("experts", "experts-tied", "experts-narrow"):
            with self.subTest(name):
                model, found = loader_of(self.at / name).load(self.at / name), np.load(self.at / f"{name}.npy")
                there = self.given[3].numpy()
                self.assertGreater(np.abs(found).max(), 0.5)
                theirs = self.logits(model)
                self.assertEqual((theirs.shape, theirs.dtype), (found.shape, np.float32))
                self.assertLess(np.abs(found - theirs)[there].max(), 1e-4)
                model.config["expert_eval_capacity"] = 99.0
                differs = np.abs(self.logits(model) - theirs)[there].max(axis=-1) > 1e-3
                self.assertGreater(differs.sum(), 2, "some choices found no room")

    def test_distances_beyond_these_rows_have_our_buckets(self):
        model = loader_of(self.at / "experts").load(self.at / "experts")
        for both, wanted in zip((True, False), self.given[4:]):
            torch.testing.assert_close(model.buckets(len(wanted), both), wanted, check_dtype=False)

    def test_gradients_reach_every_parameter(self):
        model = loader_of(self.at / "experts-tied").load(self.at / "experts-tied")
        model(*self.given[:4]).square().mean().backward()
        self.assertEqual([name for name, one in model.named_parameters() if one.grad is None or not one.grad.any()], [])

    def test_the_commands_of_the_page_write_ids(self):
        shown = re.search(r"(?:^    .*\n)*^    .*torch_model.*\n(?:^    .*\n)*", PAGE.read_text(encoding="utf-8"), re.M)[0]
        done = subprocess.run([sys.executable, "-c", "".join(line[4:] + "\n" for line in shown.splitlines())],
                              cwd=self.at / "experts", capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        ids = json.loads(done.stdout)
        self.assertTrue(0 < len(ids) <= 64 and all(0 <= one < 400 for one in ids), done.stdout)
        # Each id is the likeliest behind those before it, in a row of the length of the training.
        model = loader_of(self.at / "experts").load(self.at / "experts")
        (read,) = json.loads(re.search(r"write\((\[\[.*?\]\])", shown)[1])
        (ids,) = model.write([read], most=20)
        rows, there = torch.zeros(2, 1, 32, dtype=torch.long), torch.zeros(2, 1, 32, dtype=torch.bool)
        for row, mask, text in zip(rows, there, (read, [0, *ids])):
            row[0, :len(text)], mask[0, :len(text)] = torch.tensor(text), True
        with torch.no_grad():
            made = model(rows[0], rows[1], there[0], there[1])[0].argmax(-1).tolist()
        self.assertEqual(ids, made[:len(ids)])

    def test_other_models_are_refused_by_both_loaders(self):
        for kind in ("AutoModelForSeq2SeqLM", "T5ForConditionalGeneration"):
            with self.assertRaisesRegex((ValueError, KeyError), "pipe_t5_experts|experts-gated-gelu"), \
                    contextlib.redirect_stderr(io.StringIO()):
                getattr(transformers, kind).from_pretrained(self.at / "experts")
        with self.assertRaisesRegex(ValueError, "^.*t5: a model of the type t5, and not pipe_t5_experts$"):
            loader_of(self.at / "experts").load(self.at / "t5")

    def test_a_dense_model_has_no_loader(self):
        self.assertFalse((self.at / "t5/torch_model.py").exists())


if __name__ == "__main__":
    unittest.main()
