#!/usr/bin/env python3
"""Shows that compare_packed.py finds the faults that it is made for; runs in .venv-oracle."""

import contextlib
import io
import json
import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import compare_packed
import sentencepiece
import tensorflow as tf

CORPUS = "一行目\n二行目 ｶﾞ\n\n別の文書\n\n\n三つ目の文書\n終わり\n"
LINES = [["一行目", "二行目 ガ"], ["別の文書"], ["三つ目の文書", "終わり"]]
SEQ_LEN = 7
PAD, EOS = 0, 2


def train(directory):
    """Trains a tokenizer of characters, with a newline."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for lines in LINES for line in lines]), model_writer=model, vocab_size=60,
        hard_vocab_limit=False, model_type="char", pad_id=PAD, bos_id=1, eos_id=EOS, unk_id=3,
        user_defined_symbols=["\n"], normalization_rule_name="identity", add_dummy_prefix=False,
        remove_extra_whitespaces=False, minloglevel=2)
    (directory / "tokenizer.model").write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def pack(model, partitions):
    """Expected rows of each stream of documents, by another implementation."""
    newline = model.piece_to_id("\n")
    for documents in partitions:
        ids, sizes = [EOS], [(0, 0)]
        for lines in documents:
            for line in lines:
                for character, token in zip(line, model.encode(line)):
                    ids.append(token)
                    sizes.append((len(character.encode()), 1))
                ids.append(newline)
                sizes.append((1, 1))
            ids[-1] = EOS
        for at in range(0, len(ids) - 1, SEQ_LEN):
            row, counted = ids[at:at + SEQ_LEN + 1], sizes[at + 1:at + SEQ_LEN + 1]
            yield (row + [PAD] * (SEQ_LEN + 1 - len(row)), len(row), sum(size for size, _ in counted),
                   sum(chars for _, chars in counted))


def write(directory, model, rows):
    """Writes one shard of train as on the format's page, with TensorFlow."""
    index, offset, sums = b"", 0, {"rows": 0, "tokens": 0, "targets": 0, "bytes": 0, "chars": 0}
    with tf.io.TFRecordWriter(str(directory / "train-00000-of-00001.tfrecord")) as writer:
        for ids, length, size, chars in rows:
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=ids))
            record = tf.train.Example(features=tf.train.Features(feature={"tokens": value})).SerializeToString()
            writer.write(record)
            index += struct.pack("<QIII", offset, length, size, chars)
            offset += len(record) + 16
            for key, more in zip(sums, (1, length, length - 1, size, chars)):
                sums[key] += more
    (directory / "train-00000-of-00001.idx").write_bytes(index)
    shard = {"object": "train-00000-of-00001.tfrecord", "index": "train-00000-of-00001.idx", **sums}
    tokenizer = {"eos_id": EOS, "newline_id": model.piece_to_id("\n"), "model": "tokenizer.model",
                 "vocab_size": model.vocab_size()}
    (directory / "packed.json").write_text(json.dumps(
        {"seq_len": SEQ_LEN, "fill_id": PAD, "tokenizer": tokenizer,
         "splits": {"train": {"left_out": 0, "shards": [shard], **sums}}}))


class CompareTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        (self.root / "corpus.txt").write_text(CORPUS, encoding="utf-8")
        self.model = train(self.root)
        self.rows = list(pack(self.model, [LINES]))

    def compare(self, *arguments):
        """Runs the script; returns (exit code, all its output)."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = compare_packed.main([str(self.root / "corpus.txt"), str(self.root), *arguments])
        return code, said.getvalue()

    def expect_difference(self, words):
        code, said = self.compare()
        self.assertEqual(code, 1, said)
        self.assertIn(words, said)

    def edit_info(self, edit):
        path = self.root / "packed.json"
        info = json.loads(path.read_text())
        edit(info)
        path.write_text(json.dumps(info))

    def test_equal_rows_in_any_order_are_equal(self):
        write(self.root, self.model, reversed(self.rows))
        code, said = self.compare()
        self.assertEqual(code, 0, said)

    def test_partitions_end_where_the_log_says(self):
        write(self.root, self.model, list(pack(self.model, [LINES[:1], LINES[1:]])))
        self.assertEqual(self.compare()[0], 1)
        log = self.root / "run.log"
        log.write_text("# pipe run log v1\ndone\tunit=rows/0000-00000\tdocument_end=1\tx\n"
                       "done\tunit=rows/0000-00001\tdocument_end=3\tx\n")
        code, said = self.compare("--log", str(log), "--stage", "rows")
        self.assertEqual(code, 0, said)

    def test_a_missing_row_and_a_row_twice_are_found(self):
        write(self.root, self.model, self.rows[1:])
        self.expect_difference("train: 1 rows are missing, 0 were left out, 0 are not of the corpus")
        write(self.root, self.model, [*self.rows, self.rows[0]])
        self.expect_difference("train: 0 rows are missing, 0 were left out, 1 are not of the corpus")

    def test_rows_left_out_are_no_difference_when_they_are_said(self):
        write(self.root, self.model, self.rows[1:])
        self.edit_info(lambda info: info["splits"]["train"].update(left_out=1))
        self.assertEqual(self.compare()[0], 0)

    def test_another_id_length_or_count_is_found(self):
        for at in range(4):
            row = [list(self.rows[0][0]), *self.rows[0][1:]]
            if at == 0:
                row[0][3] += 1
            else:
                row[at] -= 1
            write(self.root, self.model, [tuple(row), *self.rows[1:]])
            self.expect_difference("train: 1 rows are missing")

    def test_another_offset_is_found(self):
        write(self.root, self.model, self.rows)
        index = self.root / "train-00000-of-00001.idx"
        entries = bytearray(index.read_bytes())
        entries[20] += 1
        index.write_bytes(entries)
        self.expect_difference("a row at")

    def test_another_total_is_found(self):
        write(self.root, self.model, self.rows)
        self.edit_info(lambda info: info["splits"]["train"].update(chars=1))
        self.expect_difference("train: 1 chars in packed.json, its shards have")


if __name__ == "__main__":
    unittest.main()
