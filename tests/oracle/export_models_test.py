"""Exports of each family, loaded by transformers, and models of transformers, read by our trainer: the logits are the
same. The tokenizer of an export knows the ids beside the text.

export_models_test.py TRAINER: TRAINER is the trainer's environment; this runs in .venv-oracle-hf.
"""

import json
import os
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
TRAINER = sys.argv.pop(1)
KINDS = {"llama": "AutoModelForCausalLM", "llama-untied": "AutoModelForCausalLM", "bert": "AutoModelForMaskedLM",
         "bert-labels": "AutoModelForSequenceClassification", "bert-number": "AutoModelForSequenceClassification",
         "t5": "AutoModelForSeq2SeqLM", "t5-tied": "AutoModelForSeq2SeqLM"}
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
}


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
                model.save_pretrained(Path(place) / name, safe_serialization=True)
            ids = ours("--read", Path(place))
            for name, model in models.items():
                with self.subTest(name):
                    theirs = logits_of(model, name, ids)
                    self.assertGreater(np.abs(theirs).max(), 0.5)
                    found = np.load(Path(place) / f"{name}.npy")
                    self.assertEqual(found.shape, theirs.shape)
                    self.assertLess(np.abs(found - theirs).max(), 1e-4)


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.at = Path(cls.place.name)
        cls.ids = ours(cls.at)

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


if __name__ == "__main__":
    unittest.main()
