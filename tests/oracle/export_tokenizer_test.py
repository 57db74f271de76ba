"""The tokenizer of an export, as transformers reads it, gives text the same ids as `pipe sample` and a training:
text that NFKC changes, lines, spaces, characters that no piece covers.

    export_tokenizer_test.py
"""

import random
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "plugins/train/python"), str(ROOT / "tests/trainer")]

import gguf_ids  # noqa: E402
import numpy as np  # noqa: E402
import sentencepiece  # noqa: E402
import tiny_tokenizer  # noqa: E402
from pipe_trainer import config as configs  # noqa: E402
from pipe_trainer.data import sentencepiece_model  # noqa: E402
from pipe_trainer.data.text import Text, rules_of  # noqa: E402
from pipe_trainer.export import export, gguf_tokenizer  # noqa: E402
from pipe_trainer.model import model  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

CHANGED = ["ＡＢＣ①ｶﾅ", "ﾊﾞﾊﾟ㍿ﬁ", "猫が鳴く。\n犬が走る。", " the  cat ", "👍", "\n\n", "", "か\u3099e\u0301"]
CHARACTERS = "猫犬が鳴く。走る庭をABC①ｶﾅﾊﾞＡＢＣthe cat dog sleeps  \n👍é㍿ﬁ"


class Exported(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root = Path(root.name)

    def trained(self, kind, **options):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([*tiny_tokenizer.LINES, "カナABC1 テスト"] * 20), model_prefix=str(self.root / "tokenizer"),
            vocab_size=360, model_type=kind, pad_id=0, bos_id=1, eos_id=2, unk_id=3,
            user_defined_symbols=["\n"], character_coverage=1.0, hard_vocab_limit=False, minloglevel=2,
            **{"byte_fallback": True, "normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False, **options})
        return self.root / "tokenizer.model"

    def same_ids(self, kind, form, **options):
        path = self.trained(kind, **options)
        size = sentencepiece.SentencePieceProcessor(model_file=str(path)).vocab_size()
        config = configs.Model(layers=1, d=16, heads=2, ff=16, vocab=size, seq_len=4096).complete()
        params = {"embed": np.zeros((config.padded_vocab, 16), np.float32), "final_norm": np.ones(16, np.float32),
                  "blocks": {name: np.zeros(leaf.shape, np.float32) for name, leaf in model.shapes(config)["blocks"].items()}}
        info = {**tiny_tokenizer.INFO, "vocab_size": size}
        lineage = {"data": {"lineage": [{"type": "normalize", "config": {"form": form.lower()}}] if form else []}}
        export.write(params, config, {**info, "path": path}, {"lineage": lineage}, self.root / "export")
        theirs, ours = AutoTokenizer.from_pretrained(self.root / "export"), Text(path, info, rules_of(lineage))
        make = random.Random(1)
        made = ["".join(make.choice(CHARACTERS) for _ in range(make.randint(1, 30))) for _ in range(300)]
        for text in [*CHANGED, *made]:
            self.assertEqual(theirs(text)["input_ids"], ours.prompt_ids(text), repr(text))
        return theirs

    def test_ids_of_a_unigram_and_of_a_bpe(self):
        for kind in ("unigram", "bpe"):
            for form in ("NFKC", "NFC", None):
                theirs = self.same_ids(kind, form)
        text = "猫が 鳴く。\n犬👍"
        self.assertEqual(theirs.decode(theirs(text)["input_ids"], skip_special_tokens=True), text)

    def test_ids_of_a_model_that_changes_text_itself(self):
        self.same_ids("unigram", "NFKC", normalization_rule_name="nmt_nfkc", add_dummy_prefix=True,
                      remove_extra_whitespaces=True)

    def test_ids_by_the_metadata_of_a_gguf(self):
        """Bytes are the unknown id there, if the model is a unigram: llama.cpp has none."""
        changes = {"normalization_rule_name": "nmt_nfkc", "add_dummy_prefix": True, "remove_extra_whitespaces": True}
        make = random.Random(2)
        made = ["".join(make.choice(CHARACTERS) for _ in range(make.randint(1, 30))) for _ in range(300)]
        told = set()
        for kind, options in (("unigram", {}), ("unigram", {"add_dummy_prefix": True}), ("unigram", changes),
                              ("unigram", {**changes, "byte_fallback": False}), ("bpe", {}), ("bpe", {"add_dummy_prefix": True})):
            path = self.trained(kind, **options)
            model = sentencepiece_model.read(path.read_bytes())
            self.assertIsNone(gguf_tokenizer.refusal(model))
            metadata = gguf_tokenizer.metadata_of(model, tiny_tokenizer.INFO, len(model.pieces) + 5)
            reader = gguf_ids.Reader({key.removeprefix("tokenizer.ggml."): value for key, (_, value) in metadata.items()})
            ours, lost = Text(path, tiny_tokenizer.INFO), set(gguf_tokenizer.bytes_of(model))
            for text in [*CHANGED, *made]:
                if kind == "unigram" and model.dummy_prefix and not model.squeeze and not all(
                        line == "" or line.strip(" ") for line in text.split("\n")):
                    continue  # exports.md: spaces alone
                wanted = ours.prompt_ids(text)
                known = [3 if number in lost else number for number in wanted]
                known = [number for at, number in enumerate(known) if number != 3 or at == 0 or known[at - 1] != 3]
                self.assertEqual(reader.tokens(text), known, (kind, options, text))
                told.add((kind, known == wanted))
        self.assertEqual(told, {("unigram", True), ("unigram", False), ("bpe", True)})

    def test_pieces_are_those_that_the_library_says(self):
        for path in (tiny_tokenizer.path(), self.trained("bpe", normalization_rule_name="nmt_nfkc", add_dummy_prefix=True)):
            library = sentencepiece.SentencePieceProcessor(model_file=str(path))
            ours = sentencepiece_model.read(path.read_bytes())
            self.assertEqual(len(ours.pieces), library.vocab_size())
            for number, (text, score, kind) in enumerate(ours.pieces):
                self.assertEqual((text, score), (library.id_to_piece(number), library.get_score(number)))
                self.assertEqual(kind == sentencepiece_model.BYTE, library.is_byte(number))
                self.assertEqual(kind == sentencepiece_model.CONTROL, library.is_control(number))
        self.assertEqual((ours.dummy_prefix, ours.byte_fallback), (True, True))


if __name__ == "__main__":
    unittest.main()
