#!/usr/bin/env python3
"""A BERT and a T5 of transformers, trained briefly there and saved, learn labels by the stage `train`: the logits of the
models are the same before, the answers of the BERT are the same after, and both answer better than the most frequent label.

    tuned_models_test.py PIPE TRAINER       TRAINER: the trainer's environment; this runs in .venv-oracle-hf
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

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/pages"), str(ROOT / "tests/oracle")]

import own_text  # noqa: E402
from blocks import blocks_of  # noqa: E402
from program import ran  # noqa: E402

TRAINER, PIPE = sys.argv.pop(2), sys.argv.pop(1)
PAGE = "plugins/train/python/fine_tuning.md"
BERT = {"vocab_size": 311, "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
        "max_position_embeddings": 128, "pad_token_id": 0, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
T5 = {"d_model": 48, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4, "dropout_rate": 0.0,
      "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "pad_token_id": 0, "eos_token_id": 1,
      "decoder_start_token_id": 0}
TOKENIZER = """\
pipe: 1
name: pieces
limits: { memory: 1GiB }
stages:
  source:    { type: download, url: "REVIEWS" }
  reviews:   { type: read_rows, input: source, format: tsv, text: document, label: label }
  tokenizer: { type: train_tokenizer, input: reviews, layout: t5, vocab_size: auto, out: "OUT" }
  ids:       { type: encode, input: reviews, tokenizer: tokenizer }
  packed:    { type: write_packed, input: ids, seq_len: ROOM, packing: best_fit, encoding: raw16, out: "OUT-rows" }
"""
ROOM = 48


def reviews_of(table):
    """[(text, label)] of a table of own_text."""
    return [line.split("\t")[1:] for line in table.splitlines()[1:]]


def page_file():
    """The pipeline file of the page, with `vocab.txt` for its tokenizer."""
    return next(block.text for block in blocks_of(PAGE, (ROOT / PAGE).read_text(encoding="utf-8"))
                if block.language == "yaml" and block.text.startswith("pipe: 1"))


def taught(model, batches):
    """Trains the model for a step on each batch."""
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-3)
    for batch in batches:
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def padded(rows, fill=0):
    length = max(map(len, rows))
    return torch.tensor([row + [fill] * (length - len(row)) for row in rows])


def macro_f1(wanted, answered):
    scores = []
    for label in set(wanted) | set(answered):
        right = sum(one == two == label for one, two in zip(wanted, answered))
        scores.append(2 * right / (wanted.count(label) + answered.count(label)))
    return sum(scores) / len(scores)


class TunedModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.place = Path(holder.name)
        torch.manual_seed(0)
        cls.table = cls.place / "reviews.tsv"
        cls.table.write_text(own_text.reviews(600, 3), encoding="utf-8")
        cls.texts = [text for text, _ in reviews_of(cls.table.read_text(encoding="utf-8"))]
        cls.asked = reviews_of(own_text.reviews(200, 77))
        (cls.place / "models").mkdir()
        cls.bert, cls.t5 = cls.place / "models/bert", cls.place / "models/t5"
        cls.make_bert()
        cls.make_t5()

    @classmethod
    def batches(cls, ids, count=40, rows=16):
        return [[ids[(start * rows + row) % len(ids)] for row in range(rows)] for start in range(count)]

    @classmethod
    def make_bert(cls):
        own_text.put_bert(cls.place / "pieces")
        vocabulary = cls.place / "pieces/vocab.txt"
        tokenizer = transformers.BertTokenizer(str(vocabulary), do_lower_case=False, strip_accents=False)

        def hidden(rows):
            whole = padded(rows)
            picked = (torch.rand(whole.shape) < 0.15) & (whole > 4)
            return {"input_ids": torch.where(picked, tokenizer.mask_token_id, whole), "attention_mask": (whole != 0).long(),
                    "labels": torch.where(picked, whole, -100)}
        ids = [tokenizer(text)["input_ids"] for text in cls.texts]
        model = taught(transformers.BertForMaskedLM(transformers.BertConfig(**BERT)), map(hidden, cls.batches(ids)))
        model.save_pretrained(cls.bert, safe_serialization=True)
        (cls.bert / "vocab.txt").write_bytes(vocabulary.read_bytes())

    @classmethod
    def make_t5(cls):
        file = cls.place / "pieces.yaml"
        text = TOKENIZER.replace("REVIEWS", str(cls.table)).replace("OUT", str(cls.place / "spm")).replace("ROOM", str(ROOM))
        file.write_text(text, encoding="utf-8")
        ran(PIPE, "run", file, "--work", cls.place / "work-pieces")
        packed = cls.place / "spm-rows"
        vocab = json.loads((packed / "packed.json").read_text())["tokenizer"]["vocab_size"]
        ids = [row[1:].tolist() for shard in sorted(packed.glob("*.bin"))
               for row in np.fromfile(shard, "<u2").reshape(-1, ROOM + 1).astype(np.int64)]

        def copied(rows):
            whole = torch.tensor(rows)
            return {"input_ids": whole, "attention_mask": (whole != 0).long(), "labels": torch.where(whole == 0, -100, whole)}
        model = taught(transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=max(vocab, 311), **T5)),
                       map(copied, cls.batches(ids)))
        model.save_pretrained(cls.t5, safe_serialization=True)
        (cls.t5 / "tokenizer.model").write_bytes((cls.place / "spm/tokenizer.model").read_bytes())

    def test_the_logits_of_a_trained_model_are_ours(self):
        subprocess.run([f"{TRAINER}/bin/python", ROOT / "tests/oracle/export_models.py", "--read", self.place / "models"],
                       check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
        ids = json.loads((self.place / "models/ids.json").read_text())
        for name, model, given in (("bert", transformers.BertForMaskedLM, {}),
                                   ("t5", transformers.T5ForConditionalGeneration,
                                    {"decoder_input_ids": torch.tensor([ids["given"]])})):
            with self.subTest(name), torch.no_grad():
                theirs = model.from_pretrained(self.place / "models" / name).eval()(
                    input_ids=torch.tensor([ids["read"]]), **given).logits[0].numpy()
                self.assertGreater(np.abs(theirs).max(), 0.5)
                self.assertLess(np.abs(np.load(self.place / "models" / f"{name}.npy") - theirs).max(), 1e-4)

    def tuned(self, name, text, *settings):
        """Runs the pipeline file; returns the export, and (answer, share) of each review that is asked."""
        file, out = self.place / f"{name}.yaml", self.place / f"out-{name}"
        file.write_text(text, encoding="utf-8")
        chosen = {"reviews": self.table, "out": out, "stages.opinion.environment": TRAINER, **dict(settings)}
        ran(PIPE, "run", file, "--work", self.place / f"work-{name}",
            *(word for key, value in chosen.items() for word in ("--set", f"{key}={value}")))
        asked = self.place / f"{name}.txt"
        asked.write_text("".join(f"{text}\n" for text, _ in self.asked), encoding="utf-8")
        said = ran(PIPE, "predict", out, asked, "--environment", TRAINER)
        answers = [line.split("\t") for line in said.splitlines()]
        (run,) = (out / "runs").iterdir()
        return run / "export", [(label, float(share)) for label, share in answers]

    def assert_learned(self, answers):
        wanted = [label for _, label in self.asked]
        majority = macro_f1(wanted, [max(set(wanted), key=wanted.count)] * len(wanted))
        found = macro_f1(wanted, [label for label, _ in answers])
        print(f"macro F1 {found:.3f}, the most frequent label {majority:.3f}", file=sys.stderr)
        self.assertGreaterEqual(found, majority + 0.10)

    def test_a_bert_learns_labels_and_answers_in_transformers_as_it_does_here(self):
        export, answers = self.tuned("bert", page_file(), ("model", self.bert), ("steps", 120),
                                     ("stages.packed.seq_len", 64), ("stages.opinion.config.optimizer.lr", 0.001))
        self.assert_learned(answers)
        self.assertEqual((export / "vocab.txt").read_bytes(), (self.bert / "vocab.txt").read_bytes())
        tokenizer = transformers.AutoTokenizer.from_pretrained(export)
        plain = transformers.BertTokenizer(str(self.bert / "vocab.txt"), do_lower_case=False, strip_accents=False)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(export).eval()
        for (text, _), (label, share) in zip(self.asked, answers):
            self.assertEqual(tokenizer(text)["input_ids"], plain(text)["input_ids"])
            with torch.no_grad():
                shares = model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(-1)
            self.assertEqual(model.config.id2label[int(shares.argmax())], label, text)
            self.assertLess(abs(float(shares.max()) - share), 1e-3)

    def test_a_t5_learns_to_write_labels(self):
        text = page_file().replace("${model}/vocab.txt", "${model}/tokenizer.model").replace("classes", "prefix")
        text = text.replace("preset: bert-base", "model: { family: t5 }")
        _, answers = self.tuned("t5", text, ("model", self.t5), ("steps", 200), ("stages.packed.seq_len", 64),
                                ("stages.opinion.config.optimizer.lr", 0.003))
        self.assert_learned(answers)


if __name__ == "__main__":
    unittest.main(verbosity=2)
