#!/usr/bin/env python3
"""Shows that compare_tfds.py finds the faults that it is made for; runs in .venv-oracle."""

import contextlib
import io
import json
import lzma
import os
import sys
import tempfile
import unicodedata
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import compare_tfds
import tensorflow as tf

CORPUS = ("\ufeff一行目\n ｶﾞ \u3000ﾊﾟ\r\n\n\n二つ目\n   \n三つ目\x00\n同じ\n\n四つ目\n同じ\n" "\xe9\n").encode() + b"\xe3\x81\n"
TRAIN = ["一行目", "ガ パ", "三つ目\ufffd", "同じ", "同じ", "四つ目", "\xe9", "\ufffd"]
VALIDATION = ["二つ目"]


def write_data_set(directory, splits, lengths=None, feature="text"):
    """Writes these examples with TensorFlow itself, in shards of at most five."""
    directory.mkdir(parents=True)
    described = []
    for split, examples in splits.items():
        shards = [examples[at:at + 5] for at in range(0, len(examples), 5)]
        for number, shard in enumerate(shards):
            name = f"set-{split}.tfrecord-{number:05d}-of-{len(shards):05d}"
            with tf.io.TFRecordWriter(str(directory / name)) as writer:
                for line in shard:
                    value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[line.encode()]))
                    writer.write(tf.train.Example(features=tf.train.Features(feature={feature: value}))
                                 .SerializeToString())
        described.append({"name": split, "numBytes": "1",
                          "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
                          "shardLengths": (lengths or {}).get(split, [str(len(shard)) for shard in shards])})
    module = "tensorflow_datasets.core.features."
    text = {"pythonClassName": module + "text_feature.Text", "text": {}}
    (directory / "dataset_info.json").write_text(json.dumps(
        {"name": "set", "version": "1.0.0", "fileFormat": "tfrecord", "splits": described}))
    (directory / "features.json").write_text(json.dumps(
        {"pythonClassName": module + "features_dict.FeaturesDict", "featuresDict": {"features": {feature: text}}}))


class CompareTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def compare(self, splits, *arguments, corpus=CORPUS, **metadata):
        """Runs the script; returns (exit code, all its output)."""
        (self.root / "corpus.txt").write_bytes(corpus)
        write_data_set(self.root / "set" / "1.0.0", splits, **metadata)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = compare_tfds.main([str(self.root / "corpus.txt"), str(self.root / "set" / "1.0.0"), *arguments])
        return code, said.getvalue()

    def assert_different(self, what, *arguments, **named):
        code, said = self.compare(*arguments, **named)
        self.assertEqual(code, 1, said)
        self.assertIn(what, said)
        self.assertIn("DIFFERENT", said)

    def test_equal_lines_in_any_order_are_equal(self):
        code, said = self.compare({"train": TRAIN[::-1], "validation": VALIDATION})
        self.assertEqual(code, 0, said)
        self.assertIn("9 lines in 4 documents", said)
        self.assertIn("9 lines in 3 shards (train 8, validation 1)", said)

    def test_a_compressed_corpus_is_the_same_corpus(self):
        path = self.root / "corpus.txt.xz"
        path.write_bytes(lzma.compress(CORPUS))
        plain = self.root / "plain.txt"
        plain.write_bytes(CORPUS)
        self.assertEqual(list(compare_tfds.corpus_lines(path, "nfkc")), list(compare_tfds.corpus_lines(plain, "nfkc")))

    def test_a_missing_line(self):
        self.assert_different("missing 1 x '四つ目'", {"train": [line for line in TRAIN if line != "四つ目"],
                                                       "validation": VALIDATION})

    def test_one_copy_too_few_and_another_line_twice(self):
        self.assert_different("extra   1 x 'ガ パ'", {"train": [*TRAIN[:4], "ガ パ", *TRAIN[5:]],
                                                      "validation": VALIDATION})

    def test_another_form(self):
        self.assert_different("missing 1 x 'ｶﾞ ﾊﾟ'", {"train": TRAIN, "validation": VALIDATION}, "--form", "nfc")

    def test_a_shard_length_that_is_not_so(self):
        self.assert_different("shardLengths says 4", {"train": TRAIN, "validation": VALIDATION},
                              lengths={"train": ["4", "4"]})

    def test_a_document_in_two_splits(self):
        self.assert_different("1 documents have lines in two splits",
                              {"train": [line for line in TRAIN if line != "一行目"],
                               "validation": [*VALIDATION, "一行目"]})

    def test_another_feature(self):
        self.assert_different("['line']", {"train": TRAIN}, feature="line")

    def test_shares_of_the_splits(self):
        lines = [f"行{number}" for number in range(2000)]
        corpus = "\n\n".join(lines).encode()
        splits = {"train": lines[100:], "validation": lines[:100]}
        code, said = self.compare(splits, "--split", "validation=0.05", corpus=corpus)
        self.assertEqual(code, 0, said)
        (self.root / "set").rename(self.root / "before")
        self.assert_different("0.2 of them would be 400", splits, "--split", "validation=0.2", corpus=corpus)

    def test_characters_of_a_newer_unicode_are_forgiven_and_listed(self):
        newer = "\U0001e030"  # MODIFIER LETTER CYRILLIC SMALL A, since 15.0: NFKC makes it U+0430
        if unicodedata.category(newer) != "Cn":
            self.skipTest("this Python knows Unicode 15")
        code, said = self.compare({"train": ["а", "い"]}, corpus=f"{newer}\nい\n".encode())
        self.assertEqual(code, 0, said)
        self.assertIn("but for 1 with characters of a newer Unicode", said)
        self.assertIn("newer than Unicode", said)

    def test_a_newer_unicode_excuses_no_other_line(self):
        newer = "\U0001e030"
        self.assert_different("missing 1 x 'い'", {"train": ["а", "う"]}, corpus=f"{newer}\nい\n".encode())


if __name__ == "__main__":
    unittest.main()
