"""Exports of the family bert: the same logits as from a forward pass written from the description of BERT, with numpy."""

import json
import math
import tempfile
import unittest
from pathlib import Path

import jax
import numpy as np

import places
import tiny_tokenizer
from pipe_trainer import config as configs
from pipe_trainer import exits, sample
from pipe_trainer.export import export, safetensors
from pipe_trainer.model import model

SHAPE = configs.Model(family="bert", layers=2, d=32, heads=4, ff=48, vocab=301, seq_len=16, norm_eps=1e-12).complete()
MASK = 300  # behind the vocabulary of the tokenizer


def params_of(shape):
    """Nothing is zero or one: otherwise a missing one would not be noticed."""
    chance = np.random.default_rng(0)
    return jax.tree.map(lambda leaf: np.asarray(chance.normal(size=leaf.shape) * 0.3, np.float32),
                        jax.eval_shape(lambda: model.init(shape, jax.random.key(0))))


def bert_logits(directory, ids):
    """Logits of BertForMaskedLM for one sequence, in float64."""
    settings = json.loads((directory / "config.json").read_text())
    weights = {name: value.astype(np.float64) for name, value in
               safetensors.read(directory / "model.safetensors").items()}
    heads = settings["num_attention_heads"]

    def dense(x, at):
        return x @ weights[at + ".weight"].T + weights[at + ".bias"]

    def norm(x, at):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + settings["layer_norm_eps"])
        return scaled * weights[at + ".weight"] + weights[at + ".bias"]

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))

    at = "bert.embeddings."
    hidden = norm(weights[at + "word_embeddings.weight"][ids]
                  + weights[at + "position_embeddings.weight"][:len(ids)]
                  + weights[at + "token_type_embeddings.weight"][0], at + "LayerNorm")
    for layer in range(settings["num_hidden_layers"]):
        at = f"bert.encoder.layer.{layer}."
        q, k, v = (dense(hidden, at + f"attention.self.{name}").reshape(len(ids), heads, -1)
                   for name in ("query", "key", "value"))
        scores = np.einsum("thd,shd->hts", q, k) / math.sqrt(q.shape[-1])
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hts,shd->thd", shares / shares.sum(-1, keepdims=True), v).reshape(len(ids), -1)
        hidden = norm(hidden + dense(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        wide = gelu(dense(hidden, at + "intermediate.dense"))
        hidden = norm(hidden + dense(wide, at + "output.dense"), at + "output.LayerNorm")
    at = "cls.predictions."
    hidden = norm(gelu(dense(hidden, at + "transform.dense")), at + "transform.LayerNorm")
    return hidden @ weights["bert.embeddings.word_embeddings.weight"].T + weights[at + "bias"]


class ExportOfBert(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name) / "export"
        self.params = params_of(SHAPE)
        export.write(self.params, SHAPE, {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()},
                     {"evaluation": {"loss": 2.5, "targets": 100, "bytes": 0, "chars": 0, "bits_per_byte": None,
                                     "bits_per_char": None, "unk_rate": None},
                      "baselines": [{"name": "unigram", "nats_per_token": 5.0, "bits_per_byte": None,
                                     "bits_per_char": None}]}, self.place, marks=[(MASK, "<mask>")])

    def test_numpy_forward_of_the_file_gives_the_same_logits(self):
        ids = np.array([2, 7, 260, 299, MASK, 5, 31, 8, 100, 4, 77, 12])
        ours = np.asarray(model.logits(self.params, SHAPE, model.forward(self.params, SHAPE, ids[None])))[0, :, :301]
        theirs = bert_logits(self.place, ids)
        self.assertGreater(np.abs(theirs).max(), 0.3)
        self.assertLess(np.abs(ours - theirs).max(), 1e-4)

    def test_the_tokenizer_has_the_mask(self):
        whole = json.loads((self.place / "tokenizer.json").read_text(encoding="utf-8"))
        self.assertEqual([(token["id"], token["content"]) for token in whole["added_tokens"]][-1], (MASK, "<mask>"))
        self.assertEqual(json.loads((self.place / "special_tokens_map.json").read_text())["mask_token"], "<mask>")
        self.assertFalse((self.place / "generation_config.json").exists())

    def test_the_card_names_the_model_and_its_loss(self):
        card = (self.place / "README.md").read_text(encoding="utf-8")
        for said in ("fill-mask", "BERT", "2.5000", "100 hidden ids"):
            self.assertIn(said, card)
        self.assertNotIn("None", card)

    def test_it_continues_no_text(self):
        options = sample.options_of(["--run", str(self.place)])
        self.assertRaisesRegex(exits.Ended, "continues no text", sample.written, options)


if __name__ == "__main__":
    unittest.main()
