#!/usr/bin/env python3
"""A BERT that pipelines/bert_ja.yaml trains on masked pairs of sentences, and one that transformers made and the trainer
begins with, have the losses that BertForPreTraining of transformers has on the same examples.

    pre_training_test.py PIPE TRAINER       TRAINER: the trainer's environment; this runs in .venv-oracle-hf
"""

import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/pages"), str(ROOT / "tests/oracle")]

import own_text  # noqa: E402
from program import ran, records  # noqa: E402

TRAINER, PIPE = sys.argv.pop(2), sys.argv.pop(1)
SETTINGS = {"vocab_size": "auto", "validation": 0.3, "seq_len": 48, "max_predictions": 6, "dupe_factor": 2, "steps": 30,
            "stages.train.environment": TRAINER, "stages.train.eval_every": 0,
            "stages.train.config": "{ preset: tiny-masked, objective: { name: next_sentence } }"}


class PreTraining(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.place = Path(holder.name)
        (cls.place / "text.txt").write_text(own_text.plain(400), encoding="utf-8")
        cls.trained = cls.run_of("trained")
        cls.examples = [one["features"] for one in records(PIPE, cls.place / "out-trained/pretraining_data")
                        if one["split"] == "validation"]

    @classmethod
    def run_of(cls, name, **more):
        """Runs the pipeline file; returns the directory of its training."""
        out = cls.place / f"out-{name}"
        settings = {**SETTINGS, "corpus": cls.place / "text.txt", "out": out, **more}
        ran(PIPE, "run", ROOT / "pipelines/bert_ja.yaml", "--work", cls.place / f"work-{name}",
            *(word for key, value in settings.items() for word in ("--set", f"{key}={value}")))
        (run,) = (out / "runs").glob("train-*")
        return run

    def losses_of(self, place):
        """(loss of masked ids, loss of the labels, share of right ones, that model's own loss) in transformers."""
        model = transformers.BertForPreTraining.from_pretrained(place).eval()
        columns = {name: torch.tensor([one[name] for one in self.examples]) for name in self.examples[0]}
        places, weights = columns["masked_lm_positions"], columns["masked_lm_weights"] == 1
        labels = torch.full(columns["input_ids"].shape, -100)
        rows, slots = torch.nonzero(weights, as_tuple=True)
        labels[rows, places[rows, slots]] = columns["masked_lm_ids"][rows, slots]
        random = columns["next_sentence_labels"][:, 0]
        with torch.no_grad():
            found = model(input_ids=columns["input_ids"], attention_mask=columns["input_mask"],
                          token_type_ids=columns["segment_ids"], labels=labels, next_sentence_label=random)
        masked = torch.nn.functional.cross_entropy(found.prediction_logits.flatten(0, 1), labels.flatten())
        follows = torch.nn.functional.cross_entropy(found.seq_relationship_logits, random)
        right = (found.seq_relationship_logits.argmax(1) == random).double().mean()
        return [float(one) for one in (masked, follows, right, found.loss)]

    def assert_same(self, run, place):
        final = json.loads((run / "result.json").read_text())["final"]
        masked, follows, right, whole = self.losses_of(place)
        print(f"{len(self.examples)} examples: {masked:.4f} and {follows:.4f} nats, {right:.4f} right", file=sys.stderr)
        self.assertEqual(final["targets"], sum(sum(one["masked_lm_weights"]) for one in self.examples))
        self.assertLess(abs(final["loss"] - masked), 1e-4)
        self.assertLess(abs(final["next_sentence_loss"] - follows), 1e-4)
        self.assertLess(abs(final["next_sentence_accuracy"] - right), 1e-9)
        self.assertLess(abs(whole - masked - follows), 1e-4)

    def test_a_trained_model_has_the_losses_of_its_export(self):
        self.assertGreater(len(self.examples), 40)
        self.assert_same(self.trained, self.trained / "export")

    def test_a_model_of_transformers_has_its_losses_here(self):
        torch.manual_seed(0)
        vocabulary = self.place / "out-trained/pretraining_data/vocab.txt"
        config = transformers.BertConfig(
            vocab_size=len(vocabulary.read_text(encoding="utf-8").splitlines()), hidden_size=48, num_hidden_layers=2,
            num_attention_heads=4, intermediate_size=96, max_position_embeddings=64, pad_token_id=0, initializer_range=0.3)
        place = self.place / "theirs"
        transformers.BertForPreTraining(config).save_pretrained(place, safe_serialization=True)
        shutil.copy(vocabulary, place)
        begun = self.run_of("begun", steps=1, **{
            "stages.train.inputs.init_from": place / "model.safetensors",
            "stages.train.config": "{ preset: bert-base, objective: { name: next_sentence }, batch: { rows: 8 }, "
                                   "optimizer: { lr: 1.0e-9, weight_decay: 0 } }"})
        self.assert_same(begun, place)


if __name__ == "__main__":
    unittest.main(verbosity=2)
