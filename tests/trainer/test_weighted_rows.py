"""Rows with loss weights: both readers give the weights as they were written, and refuse those that no row may have."""

import json
import unittest

import numpy as np

import packed_rows
import test_reader
from pipe_trainer.data.native_reader import NativeReader
from pipe_trainer.data.numpy_reader import NumpyReader
from pipe_trainer.data.packed_info import read_packed_info
from pipe_trainer.data.rows import DataError, Rows
from test_reader import SEQ_LEN, VOCAB

IDS, WEIGHTS = [*range(5, 10), 0, 0, 0], [0, 1, 0, 1, 1, 0, 0, 0]
OBJECT = "train-00000-of-00001.tfrecord"


def weighted(rows, seed):
    """The same rows, each with random weights at its targets; the first row has none that is 1."""
    chance = np.random.default_rng(seed)
    for number, (ids, length, size, chars) in enumerate(rows):
        weights = np.zeros(SEQ_LEN + 1, int)
        if number:
            weights[1:length] = chance.integers(0, 2, length - 1)
        yield ids, length, size, chars, weights.tolist()


class Written(test_reader.ReaderTest):
    def write(self, *sizes, encoding="example"):
        shards = [list(weighted(test_reader.made_rows(size, number), number)) if size else []
                  for number, size in enumerate(sizes)]
        splits = {"train": shards, "validation": [list(weighted(test_reader.made_rows(9, 99), 99))]}
        packed_rows.write_packed(self.place, splits, SEQ_LEN, VOCAB, encoding=encoding, weights=True)
        return [row for shard in shards for row in shard]

    def assert_batch(self, batch, rows):
        self.assertEqual((batch.weights.dtype, batch.weights.shape), (np.uint8, (len(rows), SEQ_LEN + 1)))
        self.assertEqual(batch.weights.tolist(), [row[4] for row in rows])
        super().assert_batch(batch._replace(weights=None), rows)


class WeightedRowsTest(Written):
    def test_weights_come_as_they_were_written(self):
        written = self.write(5, 0, 300, 1, 0)
        for rows in self.both(seed=5):
            self.assertTrue(rows.weights)
            self.assertEqual(rows.targets, sum(sum(row[4]) for row in written))
            for first, n in ((0, 306), (4, 3), (305, 1), (306, 1)):
                self.assert_batch(rows.in_order(first, n), written[first:first + n])
            self.assert_batch(rows.shuffled(290, 100), [written[row] for row in rows.plan(290, 100)])

    def test_rows_without_weights_have_none(self):
        packed_rows.write_packed(self.place, {"train": [list(test_reader.made_rows(4, 0))]}, SEQ_LEN, VOCAB)
        for rows in self.both():
            self.assertFalse(rows.weights)
            self.assertIsNone(rows.in_order(0, 4).weights)

    def row(self, example, length=5, weights=True):
        """Writes this Example as the one row."""
        rows = [(IDS, length, 3, 1, WEIGHTS) if weights else (IDS, length, 3, 1)]
        packed_rows.write_packed(self.place, {"train": [rows]}, SEQ_LEN, VOCAB, weights=weights)
        (self.place / OBJECT).write_bytes(packed_rows.frame(example))
        packed_rows.write_manifest(self.place)

    def test_weights_that_no_row_may_have_are_refused(self):
        feature, sub = packed_rows.feature, packed_rows.sub
        tokens, weights = feature(b"tokens", IDS), feature(b"weights", WEIGHTS)
        none = 'is no Example of one int64 list "tokens"'

        def with_weights(*values):
            return packed_rows.example(IDS, weights=values)
        for example, said in (
                (packed_rows.example(IDS), "has no weights"),
                (with_weights(*WEIGHTS[:-1]), "has 7 weights instead of 8"),
                (with_weights(*WEIGHTS, 0), "has 9 weights instead of 8"),
                (with_weights(), "has 0 weights instead of 8"),
                (with_weights(0, 1, 2, 1, 1, 0, 0, 0), "has the weight 2, neither 0 nor 1"),
                (with_weights(0, 1, 300, 1, 1, 0, 0, 0), "has the weight 300, neither 0 nor 1"),
                (with_weights(0, 1, 2**64 - 1, 1, 1, 0, 0, 0), "has the weight -1, neither 0 nor 1"),
                (with_weights(0, 1, 2**50, 1, 7, 0, 0, 0), f"has the weight {2**50}, neither 0 nor 1"),
                (with_weights(1, 1, 0, 1, 1, 0, 0, 0), "has a weight at its context or its padding"),
                (with_weights(0, 1, 0, 1, 1, 1, 0, 0), "has a weight at its context or its padding"),
                (with_weights(0, 1, 0, 1, 1, 0, 0, 1), "has a weight at its context or its padding"),
                (sub(10, weights + tokens), none), (sub(10, weights), none),
                (sub(10, tokens + weights + weights), none),
                (sub(10, tokens + feature(b"weight", WEIGHTS)), none), (sub(10, tokens + weights[:-1]), none),
                (sub(10, tokens + feature(b"weights", [0] * 7 + [128])[:-1]), none),
                (sub(10, tokens) + sub(10, weights), none),
                (packed_rows.example(IDS[:-1], weights=WEIGHTS), "has 7 ids, by packed.json 8"),
                (packed_rows.example([*IDS[:4], VOCAB, 0, 0, 0], weights=[9] * 8), "id 4 is none of the tokenizer's")):
            self.row(example)
            error = self.errors()
            self.assertIn(f"{OBJECT}: the row at byte 0", error)
            self.assertIn(said, error)

    def test_weights_that_packed_json_does_not_name_are_refused(self):
        self.row(packed_rows.example(IDS, weights=WEIGHTS), weights=False)
        self.assertIn("the row at byte 0 has weights, which packed.json does not name", self.errors())

    def test_a_weight_written_too_long_is_read(self):
        """Protobuf allows it: 81 80 80 80 80 80 00 is 1."""
        values = bytes([0]) + b"\x81\x80\x80\x80\x80\x80\x00" + bytes(WEIGHTS[2:])
        entry = packed_rows.sub(10, b"weights") + packed_rows.sub(18, packed_rows.sub(26, packed_rows.sub(10, values)))
        self.row(packed_rows.sub(10, packed_rows.feature(b"tokens", IDS) + packed_rows.sub(10, entry)))
        for rows in self.both():
            self.assertEqual(rows.in_order(0, 1).weights.tolist(), [WEIGHTS])

    def test_weights_asked_for_against_the_rows_are_the_callers_mistake(self):
        self.write(3)
        shards = read_packed_info(self.place).splits["train"]
        for kind in (NumpyReader, NativeReader):
            for weights in (True, False):
                reader = kind(self.place, shards, SEQ_LEN, VOCAB, 0, 0, weights=weights)
                self.addCleanup(reader.close)
                given = np.empty((1, SEQ_LEN + 1), np.int32), np.empty(1, np.int32), *np.empty((2, 1), np.int64)
                asked = None if weights else np.empty((1, SEQ_LEN + 1), np.uint8)
                self.assertRaises(ValueError, reader.fill, False, 0, *given, asked)


class PackedInfoTest(Written):
    def change(self, change):
        self.write(3, 2)
        path = self.place / "packed.json"
        info = json.loads(path.read_text())
        change(info)
        path.write_text(json.dumps(info))
        packed_rows.write_manifest(self.place)
        with self.assertRaises(DataError) as raised:
            Rows(self.place, "train", native=False)
        self.assertIn(str(path if "split" not in str(raised.exception) else self.place), str(raised.exception))
        return str(raised.exception)

    def test_a_version_without_its_weights_is_damaged(self):
        for value in (None, False, 1, "true"):
            said = self.change(lambda info, value=value: info.update(weights=value))
            self.assertIn("weights: missing, or not as version 3 has them; run `pipe verify`", said)
        self.assertIn("weights: missing", self.change(lambda info: info.pop("weights")))

    def test_weights_in_another_version_are_damaged_or_newer(self):
        for version in (1, 2):
            said = self.change(lambda info, version=version: info.update(pipe_packed=version))
            self.assertIn(f"weights: missing, or not as version {version} has them", said)
        said = self.change(lambda info: info.update(pipe_packed=4))
        self.assertIn("its version 4 is none of (1, 2, 3, 5); take a newer pipe", said)

    def test_a_shard_without_a_count_of_scored_targets_is_damaged(self):
        def shard(info):
            return info["splits"]["train"]["shards"][1]
        self.assertIn("shards[1]: scored: missing", self.change(lambda info: shard(info).pop("scored")))
        self.assertIn("shards[1]: scored: -1, which is out", self.change(lambda info: shard(info).update(scored=-1)))
        self.assertIn("shards[1]: scored: 99, which is out", self.change(lambda info: shard(info).update(scored=99)))

    def test_a_split_without_a_scored_target_is_refused(self):
        def none(info):
            for shard in info["splits"]["train"]["shards"]:
                shard["scored"] = 0
        self.assertIn("split 'train' has no scored target", self.change(none))

    def test_encodings_that_have_no_room_for_weights_are_damaged(self):
        for more, said in (({"encoding": "raw16"}, "weights: rows in raw16 have no room for them"),
                           ({"encoding": "array_record"}, "rows in array_record, which this trainer does not read"),
                           ({"segments": True}, "rows with segments, which this trainer does not read")):
            self.assertIn(said, self.change(lambda info, more=more: info.update(more)))


if __name__ == "__main__":
    unittest.main()
