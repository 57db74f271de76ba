"""Rows in blocks that the stage fetches (plugins/train/rows/rows.md): both readers give the same rows, and wait."""

import json
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import packed_rows
import places  # noqa: F401
from pipe_trainer.data import order
from pipe_trainer.data.blocks import Blocks, Stopped
from pipe_trainer.data.rows import Rows
from pipe_trainer.exits import Ended
from pipe_trainer.run.events import Events

SEQ_LEN, VOCAB = 3, 60000
SIZES = 19000, 0, 700, 10, 20, 1200


def made_rows(first, count):
    for row in range(first, first + count):
        yield [2, row % 50000 + 5, row // 50000 + 5, 7], 4, 9, 3


class Told(Events):
    """Keeps the events, and answers `rows` as the stage does. `bring(event)` puts ranges in their place."""

    def __init__(self, bring):
        super().__init__(worker=5)
        self.kinds, self._bring = [], bring

    def emit(self, kind, **members):
        self.kinds.append((kind, members))
        if kind == "rows":
            self._bring(members)


class BlocksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.place = Path(directory.name) / "packed"
        starts = np.cumsum((0, *SIZES))
        splits = {"train": [list(made_rows(first, size)) for first, size in zip(starts.tolist(), SIZES)],
                  "validation": [list(made_rows(0, 9))]}
        packed_rows.write_packed(cls.place, splits, SEQ_LEN, VOCAB, encoding="raw16")
        whole = Rows(cls.place, "train", seed=4)
        cls.rows = whole.count
        cls.expected = {split: rows.in_order(0, rows.count) for split, rows in
                        (("train", whole), ("validation", Rows(cls.place, "validation")))}
        cls.shuffled = whole.shuffled(0, 2 * whole.count)
        shards = sorted(cls.place.glob("train-*.bin"))
        everything = b"".join(shard.read_bytes() for shard in shards)
        for shard in shards:
            shard.unlink()
        width, cls.ranges = 2 * (SEQ_LEN + 1), {}
        for block in range(-(-cls.rows // order.BLOCK)):
            for shard, size in enumerate(SIZES):
                begin = max(block * order.BLOCK, int(starts[shard]))
                end = min((block + 1) * order.BLOCK, int(starts[shard]) + size)
                if begin < end:
                    cls.ranges[f"{block}-{shard}"] = everything[begin * width:end * width]

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.blocks, self.asked = Path(directory.name), False

    def bring(self, event):
        """All ranges of the window, and no others."""
        for path in self.blocks.iterdir():
            path.unlink()
        sample = event["sample"]
        wanted = order.window_of(sample, self.rows, 4)[0] if event["shuffled"] else [sample // order.BLOCK]
        for name, content in self.ranges.items():
            if int(name.partition("-")[0]) in wanted:
                (self.blocks / name).write_bytes(content)
        (self.blocks / "heard-5").write_text(str(event["id"]))

    def open(self, bring, native=None, split="train", shared=False):
        self.events = Told(bring)
        blocks = Blocks(str(self.blocks), "train", self.events, lambda: self.asked, shared)
        rows = Rows(self.place, split, 4, native, blocks)
        self.addCleanup(rows.close)
        return rows

    def same(self, batch, whole, first):
        for part, of in zip(batch[:4], whole[:4]):
            self.assertTrue((part == of[first:first + len(part)]).all())

    def test_rows_are_those_of_the_shards(self):
        for native in (True, False):
            rows = self.open(self.bring, native)
            self.assertEqual(rows.count, sum(SIZES))
            self.same(rows.in_order(0, rows.count), self.expected["train"], 0)
            self.same(rows.in_order(1000, 60), self.expected["train"], 1000)
            for first, count in ((0, 40), (16000, 3000), (16384 + 4000, 1), (2 * rows.count - 30000, 30000)):
                self.same(rows.shuffled(first, count), self.shuffled, first)
            self.same(self.open(self.bring, native, "validation").in_order(0, 9), self.expected["validation"], 0)

    def test_each_window_is_asked_for_once(self):
        rows = self.open(self.bring)
        for first in range(0, rows.count, 64):
            rows.shuffled(first, 64)
        told = [members for kind, members in self.events.kinds if kind == "rows"]
        self.assertEqual([members["id"] for members in told], [1, 2, 3])  # the last batch ends in the next epoch
        self.assertEqual([members["sample"] for members in told][:2], [0, order.window_of(0, rows.count, 4)[1]])
        self.assertEqual([kind for kind, _ in self.events.kinds], ["rows"] * 3)  # nothing was missing

    def test_a_process_among_several_leaves_its_window_after_each_read(self):
        rows = self.open(self.bring, shared=True)
        for first in (0, 64):
            self.same(rows.shuffled(first, 64), self.shuffled, first)
        told = [members for kind, members in self.events.kinds if kind == "rows"]
        self.assertEqual([(members["sample"], members.get("reading", True)) for members in told],
                         [(0, True), (64, False), (64, True), (128, False)])

    def test_waits_in_a_phase_of_its_own(self):
        answered = threading.Event()

        def later(event):
            threading.Timer(0.05, lambda: (self.bring(event), answered.set())).start()
            (self.blocks / "heard-5").write_text(str(event["id"]))
        rows = self.open(later)
        self.events.current_phase = "step"
        self.same(rows.shuffled(70, 5), self.shuffled, 70)
        self.assertTrue(answered.wait(30))
        self.assertEqual([members["name"] for kind, members in self.events.kinds if kind == "phase"], ["fetch", "step"])

    def test_a_range_counts_only_when_the_stage_has_heard(self):
        """Before that, it may be removing the range: here, a range with other bytes."""
        for name, content in self.ranges.items():
            (self.blocks / name).write_bytes(bytes(len(content)))

        def late(event):
            def answer():
                for path in self.blocks.glob("[0-9]*"):
                    path.unlink()
                (self.blocks / "heard-5").write_text(str(event["id"]))
                self.bring(event)
            threading.Timer(0.05, answer).start()
        self.same(self.open(late).shuffled(70, 5), self.shuffled, 70)

    def test_a_failure_of_the_stage_ends_the_process_with_its_code(self):
        def fail(event):
            (self.blocks / "failure.json").write_text(json.dumps({"code": 65, "error": "train-1: damaged"}))
        with self.assertRaises(Ended) as raised:
            self.open(fail).shuffled(0, 4)
        self.assertEqual((raised.exception.code, str(raised.exception)), (65, "train-1: damaged"))

    def test_a_stop_ends_the_wait(self):
        self.asked = True
        with self.assertRaises(Stopped):
            self.open(lambda event: None).shuffled(0, 4)


class WindowTest(unittest.TestCase):
    def test_a_window_has_the_blocks_of_its_rows(self):
        for rows in (1, 1000, 1025, 16384, 16385, 40000, 40 * 1024 - 77, 33 * 1024):
            for seed in (0, 5):
                begin = 0
                while begin < 2 * rows:
                    blocks, end = order.window_of(begin, rows, seed)
                    read = np.unique(order.rows_of(begin, end - begin, rows, seed) // order.BLOCK)
                    self.assertEqual(sorted(blocks), read.tolist(), (rows, seed, begin))
                    self.assertEqual(order.window_of(end - 1, rows, seed), (blocks, end))
                    begin = end
                self.assertEqual(begin, 2 * rows)


if __name__ == "__main__":
    unittest.main()
