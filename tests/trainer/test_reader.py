"""Rows for the trainer: libpipe_reader and its twin in numpy give the same rows and the same errors."""

import json
import os
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import packed_rows
import places  # noqa: F401
from pipe_trainer.data import order
from pipe_trainer.data.rows import DataError, Rows

SEQ_LEN, VOCAB = 7, 40000


def made_rows(count, seed):
    """Rows with ids of one to three bytes; the last row has fill."""
    chance = np.random.default_rng(seed)
    ids = chance.choice([5, 127, 128, 300, 16383, 16384, 39999], count * SEQ_LEN - 3).tolist()
    for row, length, _, _ in packed_rows.stream_rows([2, *ids], SEQ_LEN):
        chars = int(chance.integers(1, 60))
        yield row, length, 3 * chars, chars


class ReaderTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name) / "packed"

    def write(self, *sizes, encoding="example"):
        shards = [list(made_rows(size, number)) if size else [] for number, size in enumerate(sizes)]
        splits = {"train": shards, "validation": [list(made_rows(9, 99))]}
        packed_rows.write_packed(self.place, splits, SEQ_LEN, VOCAB, encoding=encoding)
        return [row for shard in shards for row in shard]

    def both(self, split="train", seed=0):
        for native in (True, False):
            rows = Rows(self.place, split, seed, native)
            self.addCleanup(rows.close)
            self.assertEqual(rows.reader, "native" if native else "numpy")
            yield rows

    def assert_batch(self, batch, rows):
        self.assertEqual([part.dtype for part in batch[:4]], [np.int32, np.int32, np.int64, np.int64])
        self.assertIsNone(batch.weights)
        self.assertEqual(batch.tokens.shape, (len(rows), SEQ_LEN + 1))
        self.assertEqual(batch.tokens.tolist(), [row[0] for row in rows])
        for number, part in enumerate((batch.lengths, batch.bytes, batch.chars), 1):
            self.assertEqual(part.tolist(), [row[number] for row in rows])

    def errors(self, read=lambda rows: rows.in_order(0, rows.count)):
        """The errors of both readers, which must be equal."""
        found = []
        for native in (True, False):
            with self.assertRaises(DataError) as raised:
                read(Rows(self.place, "train", 0, native))
            found.append(str(raised.exception))
        self.assertEqual(*found)
        return found[0]


class RowsTest(ReaderTest):
    def test_rows_come_as_they_were_written(self):
        written = self.write(5, 0, 300, 1, 0)
        for rows in self.both():
            self.assertEqual((rows.count, rows.seq_len, rows.fill_id), (306, SEQ_LEN, 0))
            self.assertEqual([rows.bytes, rows.chars], [sum(row[at] for row in written) for at in (2, 3)])
            self.assertEqual(rows.tokenizer["vocab_size"], VOCAB)
            self.assertEqual(rows.model_path, self.place / "tokenizer.model")
            for first, n in ((0, 306), (0, 1), (4, 3), (305, 1), (300, 50), (306, 1), (7, 0)):
                self.assert_batch(rows.in_order(first, n), written[first:first + n])
        for rows in self.both("validation"):
            self.assertEqual(rows.count, 9)

    def test_rows_of_ids_come_as_they_were_written(self):
        for encoding in ("raw16", "raw32"):
            written = self.write(5, 0, 300, 1, encoding=encoding)
            for rows in self.both(seed=5):
                for first, n in ((0, 306), (4, 3), (305, 1)):
                    self.assert_batch(rows.in_order(first, n), written[first:first + n])
                chosen = order.rows_of(290, 100, rows.count, 5)
                self.assert_batch(rows.shuffled(290, 100), [written[row] for row in chosen])

    def test_what_this_trainer_does_not_read_is_refused(self):
        self.write(3)
        for more, said in (({"encoding": "array_record"}, "rows in array_record, which this trainer does not read"),
                           ({"encoding": ["raw16"]}, "rows in ['raw16'], which this trainer does not read"),
                           ({"segments": True}, "rows with segments, which this trainer does not read"),
                           ({"pipe_packed": 4, "encoding": "mmap", "packing": "documents"},
                            "whole documents, which this trainer does not read; give write_packed `packing: stream`"),
                           ({"pipe_packed": 4}, "its version 4 is none of (1, 2, 3, 5)")):
            info = json.loads((self.place / "packed.json").read_text())
            (self.place / "packed.json").write_text(json.dumps({**info, **more}))
            packed_rows.write_manifest(self.place)
            self.assertIn(said, self.errors())
            (self.place / "packed.json").write_text(json.dumps(info))

    def test_a_form_whose_files_lie_in_directories_is_refused_by_its_name(self):
        self.write(3)
        info = json.loads((self.place / "packed.json").read_text())
        (self.place / "packed.json").write_text(json.dumps({**info, "pipe_packed": 2, "encoding": "mmap"}))
        packed_rows.write_manifest(self.place)
        manifest = json.loads((self.place / "MANIFEST.json").read_text())
        for shard in manifest["shards"]:
            shard["object"] = f"train/{shard['object']}"
        (self.place / "MANIFEST.json").write_text(json.dumps(manifest))
        self.assertIn("rows in mmap, which this trainer does not read", self.errors())

    def test_samples_follow_the_order(self):
        written = self.write(1500, 700, 3000)
        for rows in self.both(seed=5):
            for first, n in ((0, 100), (5190, 25), (5200 * 10**6, 33), (3, 1)):
                chosen = order.rows_of(first, n, rows.count, 5)
                self.assertEqual(rows.plan(first, n).tolist(), chosen.tolist())
                self.assert_batch(rows.shuffled(first, n), [written[row] for row in chosen])

    def test_an_epoch_has_every_row_once(self):
        written = self.write(2100, 30)
        for rows in self.both(seed=1):
            batch = rows.shuffled(rows.count, rows.count)
            self.assertEqual(sorted(batch.tokens.tolist()), sorted(row[0] for row in written))

    def test_the_size_of_a_batch_changes_nothing(self):
        self.write(900)
        for rows in self.both():
            parts = [rows.shuffled(first, n).tokens for first, n in ((880, 1), (881, 7), (888, 32))]
            self.assertTrue((np.concatenate(parts) == rows.shuffled(880, 40).tokens).all())

    def test_more_shards_than_are_held_open(self):
        written = self.write(*[3] * 150)
        for rows in self.both():
            for _ in range(2):
                self.assert_batch(rows.in_order(0, 450), written)
            self.assertLessEqual(len(os.listdir("/proc/self/fd")), 64 * 2 + 40)

    def test_plans_agree_far_out_and_for_any_seed(self):
        self.write(40, 2000)
        for seed in (0, 1, 2**63, 2**64 - 1):
            native, twin = self.both(seed=seed)
            for first in (0, 2039, 10**15):
                self.assertEqual(native.plan(first, 3000).tolist(), twin.plan(first, 3000).tolist())

    def test_rows_that_are_not_there_are_the_callers_mistake(self):
        self.write(3)
        for rows in self.both():
            self.assertRaises(ValueError, rows.shuffled, -1, 1)
            self.assertRaises(ValueError, rows.shuffled, 2**63 - 1, 10)

    def test_threads_share_a_reader(self):
        written, wrong = self.write(*[200] * 80), []

        def read(rows, first):
            for at in range(first, 16000, 997):
                if rows.in_order(at, 2).tokens.tolist() != [row[0] for row in written[at:at + 2]]:
                    wrong.append(at)

        for rows in self.both():
            threads = [threading.Thread(target=read, args=(rows, first)) for first in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def test_the_digest_is_that_of_the_data(self):
        self.write(4)
        before = Rows(self.place, "train", native=False).digest
        self.assertEqual(Rows(self.place, "validation", native=False).digest, before)
        self.write(5)
        self.assertNotEqual(Rows(self.place, "train", native=False).digest, before)

    def test_without_a_library_numpy_reads(self):
        self.write(3)
        named = os.environ.pop("PIPE_READER_LIBRARY")
        try:
            self.assertEqual(Rows(self.place, "train").reader, "numpy")
            self.assertRaises(OSError, Rows, self.place, "train", native=True)
            os.environ["PIPE_READER_LIBRARY"] = str(self.place / "packed.json")  # a file that exists, but no library
            self.assertRaises(OSError, Rows, self.place, "train")
        finally:
            os.environ["PIPE_READER_LIBRARY"] = named
        self.assertEqual(Rows(self.place, "train").reader, "native")


class DamageTest(ReaderTest):
    """Readers compare sizes and packed.json with the manifest first; therefore the manifest is rewritten after the
    damage."""

    def damage(self, name, data):
        path = self.place / name
        if path.exists():
            path.unlink()
        if data is not None:
            path.write_bytes(data)
            packed_rows.write_manifest(self.place)

    def test_every_flipped_byte_of_a_shard_is_found(self):
        self.write(4)
        name = "train-00000-of-00001.tfrecord"
        whole, offsets = (self.place / name).read_bytes(), self.offsets()
        for at in range(len(whole)):
            self.damage(name, whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:])
            error = self.errors()
            row = max(offset for offset in offsets if offset <= at)
            self.assertIn(f"{name}: damaged at byte {row}: the CRC of the", error)
            self.assertIn("pipe verify", error)

    def offsets(self):
        index = (self.place / "train-00000-of-00001.idx").read_bytes()
        return [int.from_bytes(index[at:at + 8], "little") for at in range(0, len(index), 20)]

    def test_every_flipped_byte_of_an_index_is_found(self):
        self.write(4)
        name = "train-00000-of-00001.idx"
        whole = (self.place / name).read_bytes()
        for at in range(len(whole)):
            self.damage(name, whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:])
            self.assertIn("train-00000-of-00001.", self.errors())

    def test_every_shorter_shard_and_index_is_found(self):
        self.write(3)
        for name in ("train-00000-of-00001.tfrecord", "train-00000-of-00001.idx"):
            whole = (self.place / name).read_bytes()
            for size in range(len(whole)):
                self.damage(name, whole[:size])
                self.assertIn("train-00000-of-00001.", self.errors())
            self.damage(name, whole + b"\0")
            self.assertIn("train-00000-of-00001.", self.errors())
            self.damage(name, whole)

    def rewrite(self, frame, length=8):
        """Writes one row with this frame, which has correct CRCs."""
        self.write(1)
        (self.place / "train-00000-of-00001.tfrecord").write_bytes(frame)
        index = (0).to_bytes(8, "little") + length.to_bytes(4, "little") + b"\3\0\0\0\1\0\0\0"
        (self.place / "train-00000-of-00001.idx").write_bytes(index)
        info = json.loads((self.place / "packed.json").read_text())
        info["splits"]["train"]["shards"][0].update(rows=1, targets=length - 1, bytes=3, chars=1)
        (self.place / "packed.json").write_text(json.dumps(info))
        packed_rows.write_manifest(self.place)

    def test_rows_that_are_none_are_refused(self):
        good = packed_rows.example(range(5, 13))
        sub, values = packed_rows.sub, bytes(range(5, 13))
        none = 'the row at byte 0 is no Example of one int64 list "tokens"'
        for example, length, said in (
                (b"", 8, none), (good[:-1], 8, none), (good + b"\0", 8, none), (good[:-1] + b"\x8c", 8, none),
                (packed_rows.example(range(5, 13), b"labels"), 8, none),
                (sub(10, sub(10, sub(10, b"tokens") + sub(18, sub(10, sub(10, values))))), 8, none),
                (sub(10, sub(10, sub(10, b"tokens") + sub(18, sub(26, sub(8, values))))), 8, none),
                (b"\x0a" + b"\xff" * 9 + b"\1" + good, 8, none),
                (packed_rows.example(range(5, 12)), 8, "has 7 ids, by packed.json 8"),
                (packed_rows.example([]), 8, "has 0 ids, by packed.json 8"),
                (packed_rows.example([*range(7), VOCAB]), 8, f"id 7 is none of the tokenizer's {VOCAB} "),
                (packed_rows.example([2**64 - 1, *range(7)]), 8, "id 0 is none of the tokenizer's"),
                (packed_rows.example([5, 2**34, *range(6)]), 8, "id 1 is none of the tokenizer's"),
                (packed_rows.example([5, 6, 7, 0, 0, 0, 9, 0]), 3, "id 6, behind its length of 3, does not"),
        ):
            self.rewrite(packed_rows.frame(example), length)
            self.assertIn("train-00000-of-00001.tfrecord: the row at byte 0", self.errors())
            self.assertIn(said, self.errors())
        self.rewrite(packed_rows.frame(good))
        for rows in self.both():
            self.assertEqual(rows.in_order(0, 1).tokens.tolist(), [list(range(5, 13))])

    def test_rows_of_ids_that_are_none_are_refused(self):
        for ids, length, said in (([*range(7), VOCAB], 8, f"id 7 is none of the tokenizer's {VOCAB} "),
                                  ([5, 6, 7, 0, 0, 0, 9, 0], 3, "id 6, behind its length of 3, does not"),
                                  (range(7), 8, "has 14 bytes by its index, by packed.json 16")):
            rows = [(ids, length, 3, 1)]
            packed_rows.write_packed(self.place, {"train": [rows]}, SEQ_LEN, VOCAB, encoding="raw16")
            self.assertIn("train-00000-of-00001.bin: the row at byte 0", self.errors())
            self.assertIn(said, self.errors())

    def test_a_number_written_too_long_is_read(self):
        """Protobuf allows it: 85 80 00 is 5."""
        values = b"\x85\x80\x00" + bytes(range(6, 13))
        sub = packed_rows.sub
        example = sub(10, sub(10, sub(10, b"tokens") + sub(18, sub(26, sub(10, values)))))
        self.rewrite(packed_rows.frame(example))
        for rows in self.both():
            self.assertEqual(rows.in_order(0, 1).tokens.tolist(), [list(range(5, 13))])

    def test_a_row_longer_than_any_is_not_read(self):
        self.rewrite(packed_rows.frame(packed_rows.example(range(5, 13))) + b"\0" * 200)
        self.assertIn("too many for one", self.errors())

    def test_what_is_missing_or_no_file_is_named(self):
        self.write(3)
        for name in ("train-00000-of-00001.tfrecord", "train-00000-of-00001.idx"):
            path = self.place / name
            whole = path.read_bytes()

            def read(rows):
                path.unlink()  # after its size was checked
                try:
                    os.mkfifo(path)
                    self.assertIn("is no file", str(self.failure(rows)))
                    path.unlink()
                    self.assertIn("No such file", str(self.failure(rows)))
                    path.mkdir()
                    rows.in_order(0, 3)
                finally:
                    path.rmdir()
                    path.write_bytes(whole)

            self.assertIn(name, self.errors(read))

    def test_the_files_of_another_split_may_be_elsewhere(self):
        self.write(3)
        for path in self.place.glob("train-*"):
            path.unlink()
        for rows in self.both(split="validation"):
            self.assertGreater(len(rows.in_order(0, 1).tokens), 0)
        self.assertIn("train-00000-of-00001.tfrecord: cannot be read: No such file", self.errors())

    def failure(self, rows):
        with self.assertRaises(DataError) as raised:
            rows.in_order(0, 3)
        return raised.exception


class PackedInfoTest(ReaderTest):
    def test_wrong_members_are_named(self):
        self.write(3)
        whole = (self.place / "packed.json").read_text()
        for path, value, said in (
                (("seq_len",), 0, "seq_len"), (("seq_len",), "8", "seq_len"), (("pipe_packed",), 6, "newer"),
                (("splits",), [], "splits"), (("tokenizer", "vocab_size"), -1, "vocab_size"),
                (("tokenizer", "model"), "../secret", "no name of a file"), (("fill_id",), None, "fill_id"),
                (("splits", "train", "shards", 0, "object"), "/etc/passwd", "shards[0]: object"),
                (("splits", "train", "shards", 0, "rows"), True, "shards[0]: rows"),
                (("splits", "train", "shards", 0, "object"), "stray.tfrecord", "not name stray.tfrecord"),
                (("splits", "train", "shards"), [], "has no rows"), (("splits", "train"), 3, "splits.train")):
            info = json.loads(whole)
            place = info
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            (self.place / "packed.json").write_text(json.dumps(info))
            packed_rows.write_manifest(self.place)
            with self.assertRaises(DataError) as raised:
                Rows(self.place, "train", native=False)
            self.assertIn(said, str(raised.exception))
            self.assertIn(str(self.place), str(raised.exception))

    def test_what_differs_from_the_manifest_is_named(self):
        self.write(3)
        for name in ("packed.json", "train-00000-of-00001.idx", "train-00000-of-00001.tfrecord"):
            whole = (self.place / name).read_bytes()
            (self.place / name).write_bytes(whole + b" ")
            with self.assertRaisesRegex(DataError, name):
                Rows(self.place, "train", native=False)
            (self.place / name).write_bytes(whole)
        path = self.place / "packed.json"
        path.write_text(path.read_text().replace("pad_id", "pad_ib"))
        self.assertRaisesRegex(DataError, "CRC", Rows, self.place, "train", native=False)

    def test_no_artifact_no_rows(self):
        self.write(3)
        self.assertRaisesRegex(DataError, "split 'test'; it has train, validation", Rows, self.place, "test")
        self.assertRaisesRegex(DataError, "local directory", Rows, "gs://bucket/packed", "train")
        for text in ("", "[]", "{", "[" * 100000, "\xff"):
            (self.place / "MANIFEST.json").write_text(text, encoding="latin-1")
            self.assertRaisesRegex(DataError, "MANIFEST.json", Rows, self.place, "train")
        (self.place / "MANIFEST.json").unlink()
        self.assertRaisesRegex(DataError, "MANIFEST.json", Rows, self.place, "train")


if __name__ == "__main__":
    unittest.main()
