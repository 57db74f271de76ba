"""Exports of each family, loaded by transformers: its logits are ours, and its tokenizer knows the ids beside the text.

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
         "t5": "AutoModelForSeq2SeqLM", "t5-tied": "AutoModelForSeq2SeqLM"}


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.at = Path(cls.place.name)
        subprocess.run([f"{TRAINER}/bin/python", HERE / "export_models.py", cls.at], check=True,
                       env={**os.environ, "JAX_PLATFORMS": "cpu"})
        cls.ids = json.loads((cls.at / "ids.json").read_text())

    def test_the_logits_are_ours(self):
        for name, kind in KINDS.items():
            with self.subTest(name):
                model, told = getattr(transformers, kind).from_pretrained(self.at / name, output_loading_info=True)
                self.assertEqual([told[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")],
                                 [[], [], []])
                given = {"input_ids": torch.tensor([self.ids["read"]])}
                if name.startswith("t5"):
                    given["decoder_input_ids"] = torch.tensor([self.ids["given"]])
                with torch.no_grad():
                    theirs = model.eval()(**given).logits[0].numpy()
                ours = np.load(self.at / f"{name}.npy")
                self.assertGreater(np.abs(ours).max(), 0.5)
                self.assertEqual(ours.shape, theirs.shape)
                self.assertLess(np.abs(ours - theirs).max(), 1e-4)

    def test_the_tokenizer_knows_the_mask_and_the_sentinels(self):
        masks = transformers.AutoTokenizer.from_pretrained(self.at / "bert")
        self.assertEqual(masks("猫が<mask>。")["input_ids"][-2], masks.mask_token_id)
        spans = transformers.AutoTokenizer.from_pretrained(self.at / "t5")
        vocab = json.loads((self.at / "t5/config.json").read_text())["vocab_size"]
        self.assertEqual([number for number in spans("猫が<extra_id_0>と<extra_id_1>。")["input_ids"] if number >= 300],
                         [vocab - 1, vocab - 2])

    def test_a_decoder_begins_with_the_padding_and_ends_with_eos(self):
        # Not by `generate`: the torch of Debian 12 cannot import a part of itself that it asks for.
        told = transformers.AutoConfig.from_pretrained(self.at / "t5")
        self.assertEqual((told.decoder_start_token_id, told.eos_token_id, told.pad_token_id), (0, 2, 0))
        self.assertTrue(told.is_encoder_decoder and told.is_gated_act)


if __name__ == "__main__":
    unittest.main()
