"""Pieces of a tokenizer: text to ids and back through the library, and refusals in one line. Ties: prompt_ids.py."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import places
import piece_models
import tiny_tokenizer
from pipe_trainer import exits
from pipe_trainer.data import pieces, sentencepiece_model
from pipe_trainer.data.text import Rule


class PiecesTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def written(self, data):
        (self.place / "tokenizer.model").write_bytes(data)
        return self.place / "tokenizer.model"

    def test_text_comes_back(self):
        tokenizer = pieces.Pieces(tiny_tokenizer.path())
        for line in ("", "猫が鳴く。", "  two  spaces ", "Ω\u3000\0x", "🐈" * 3000):
            self.assertEqual(tokenizer.decode(tokenizer.encode(line)), line)
        self.assertEqual(tokenizer.encode("Ω"), [5 + byte for byte in "Ω".encode()])

    def test_lines_change_by_the_rules_one_after_the_other(self):
        plain = pieces.Pieces(tiny_tokenizer.path())
        for rules, line, becomes in (
                ([Rule("nfkc")], "ｆｉｌｅ　 ①\x00", "file 1"), ([Rule("nfkc", whitespace="keep")], "ｆ　ｇ", "f g"),
                ([Rule("nfkc", None, True)], "ㅋㅋㅠ", "ㅋㅋㅠ"), ([Rule("nfkc")], "ㅋㅠ", "큐"),
                ([Rule("none", "lower_ascii")], "ÀNHK", "Ànhk"), ([Rule("none", "lower")], "ÀΑΣ", "àας"),
                ([Rule("none", whitespace="keep"), Rule("nmt_nfkc", "lower")], "～\u200bＮＨＫ\x02", "～ nhk"), ([], "Ａ", "Ａ")):
            self.assertEqual(pieces.Pieces(tiny_tokenizer.path(), rules).encode(line), plain.encode(becomes), (rules, line))

    def test_text_longer_than_foreseen_is_read_whole(self):
        letter = "x" * 3000  # one id with many bytes
        tokenizer = pieces.Pieces(self.written(piece_models.model_of([(letter, -1.0)])))
        self.assertEqual(tokenizer.encode(letter), [261])
        self.assertEqual(tokenizer.decode([261] * 3), letter * 3)

    def test_an_id_that_the_tokenizer_lacks(self):
        tokenizer = pieces.Pieces(tiny_tokenizer.path())
        with self.assertRaises(RuntimeError):
            tokenizer.decode([tiny_tokenizer.VOCAB])

    def test_texts_of_pieces_are_those_that_were_written(self):
        table = [(f"語{number}", -float(number)) for number in range(300)]
        texts = [text for text, _, _ in sentencepiece_model.read(piece_models.model_of(table)).pieces]
        self.assertEqual(texts[:5], ["<pad>", "<s>", "</s>", "<unk>", "\n"])
        self.assertEqual(texts[261:], [text for text, _ in table])

    def test_what_is_no_model_is_refused(self):
        model = piece_models.model_of([("a", -1.0)])
        for data in (b"", b"\xff" * 40, model[:-3], b"{}"):
            with self.assertRaises(RuntimeError) as refused:
                pieces.Pieces(self.written(data))
            self.assertIn("tokenizer.model: ", str(refused.exception))

    def test_a_damaged_message_ends_in_a_value_error_or_in_texts(self):
        model = piece_models.model_of([("あい", -1.0)])
        for at in range(len(model)):
            for damaged in (model[:at], model[:at] + bytes([model[at] ^ 0x80]) + model[at + 1:],
                            model[:at] + b"\xff" + model[at + 1:]):
                try:
                    sentencepiece_model.read(damaged)
                except ValueError:
                    pass

    def refused(self, library):
        with mock.patch.dict(os.environ, {"PIPE_PIECES_LIBRARY": str(library)}), self.assertRaises(exits.Ended) as ended:
            pieces.Pieces(tiny_tokenizer.path())
        self.assertEqual(ended.exception.code, exits.ENVIRONMENT)
        self.assertIn(str(library), str(ended.exception))
        self.assertEqual(len(str(ended.exception).splitlines()), 1)
        return str(ended.exception)

    def test_a_library_that_cannot_be_loaded_is_named_with_what_helps(self):
        self.assertIn("leave out `prompts`", self.refused(self.place / "libpipe_pieces.so"))
        (self.place / "text.so").write_text("no library")
        self.refused(self.place / "text.so")
        self.refused("libm.so.6")  # a library, but another one

    def test_the_library_stands_beside_jax(self):
        """Both have copies of the same C++ libraries and must not find each other's. Other tests load JAX first."""
        script = ("import sys\nfrom pipe_trainer.data.pieces import Pieces, load\nload()\nimport jax, orbax.checkpoint\n"
                  "jax.numpy.ones(2).sum()\nprint(Pieces(sys.argv[1]).encode('猫が'))")
        run = subprocess.run([sys.executable, "-c", script, tiny_tokenizer.path()], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": str(places.PACKAGE)})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.strip(), str(pieces.Pieces(tiny_tokenizer.path()).encode("猫が")))


if __name__ == "__main__":
    unittest.main()
