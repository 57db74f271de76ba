"""TensorBoard's files, read back byte by byte by a parser of the test."""

import json
import struct
import tempfile
import unittest
from pathlib import Path

import packed_rows
import places  # noqa: F401
from pipe_trainer.run import tensorboard
from pipe_trainer.run.board import Board
from pipe_trainer.run.kept_events import told_of


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        record = data[at + 12:at + 12 + size]
        assert packed_rows.masked(data[at:at + 8]) == data[at + 8:at + 12]
        assert packed_rows.masked(record) == data[at + 12 + size:at + 16 + size]
        yield record
        at += size + 16


def fields(data):
    """(number, value) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            value, at, shift = value | (byte & 0x7F) << shift, at + 1, shift + 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or varint()
            yield tag >> 3, data[at:at + size]
            at += size


class TensorBoardTest(unittest.TestCase):
    def write(self, scalars, **choices):
        with tempfile.TemporaryDirectory() as directory:
            writer = tensorboard.Writer(directory, **choices)
            for scalar in scalars:
                writer.scalar(*scalar)
            written, = Path(directory).iterdir()  # not closed yet: nothing is held back
            found = [dict(fields(record)) for record in records(written)]
            writer.close()
            self.assertRegex(written.name, r"^events\.out\.tfevents\.\d{10}\.")
            return found

    def test_scalars_are_read_back(self):
        scalars = [("loss", 1, 2.5), ("eval/bits_per_char", 1 << 40, -0.125), ("学習率", 300, 1e-3)]
        first, session, *rest = self.write(scalars)
        self.assertEqual(first[3], b"brain.Event:2")
        self.assertEqual((session[2], dict(fields(session[7]))), (1, {1: 1}), "an attempt before it may have begun, too")
        self.assertEqual(len(rest), 3)
        for found, (tag, step, value) in zip(rest, scalars):
            self.assertEqual(found[2], step)
            self.assertGreater(struct.unpack("<d", found[1])[0], 1.6e9)
            (number, entry), = fields(found[5])
            self.assertEqual(number, 1)
            entry = dict(fields(entry))
            self.assertEqual(entry[1].decode(), tag)
            self.assertEqual(entry[2], struct.pack("<f", value))

    def test_a_number_beyond_float32_is_infinite(self):
        *_, found = self.write([("evaluation/ppl", 1, 1e200)])
        entry = dict(fields(dict(fields(found[5]))[1]))
        self.assertEqual(struct.unpack("<f", entry[2])[0], float("inf"))

    def test_a_resumed_run_says_where_it_goes_on(self):
        _, session, scalar = self.write([("loss", 501, 2.0)], first_step=501)
        self.assertEqual((session[2], dict(fields(session[7]))), (501, {1: 1}))
        self.assertEqual(scalar[2], 501)

    def test_a_rewind_begins_anew_behind_its_step_and_samples_are_texts(self):
        with tempfile.TemporaryDirectory() as directory:
            board = Board(directory, 1, self.fail)
            for event in ({"kind": "step", "step": 3, "loss": 2.0}, {"kind": "rewind", "from": 3, "to": 1},
                          {"kind": "sample", "step": 2, "prompt": "猫", "text": "が*\n鳴く"},
                          {"kind": "sample", "step": 2, "prompt": "x" * 61, "text": ""},
                          {"kind": "sample", "step": 2, "prompt": "x" * 62, "text": ""}):
                board(event)
            written, = Path(directory).iterdir()
            _, _, _, session, *samples = [dict(fields(record)) for record in records(written)]
        self.assertEqual((session[2], dict(fields(session[7]))), (2, {1: 1}))
        entries = [dict(fields(dict(fields(sample[5]))[1])) for sample in samples]
        self.assertEqual([entry[1].decode() for entry in entries],
                         ["samples/猫", "samples/" + "x" * 60, "samples/" + "x" * 60 + " (2)"])
        self.assertEqual(dict(fields(entries[0][8]))[8].decode(), "    猫が*\n    鳴く")

    def test_events_of_an_evaluation_count_until_the_training_went_back_before_it(self):
        def event(kind, step, **more):
            return json.dumps({"kind": kind, "step": step, **more}, separators=(",", ":")) + "\n"
        scores = event("eval", 20) + event("mistakes", 20) + 2 * event("sample", 20)
        for behind, whole in (("", True), (event("eval", 30), True), (event("restore", 20), True),
                              (event("plan", 20), True), (event("rewind", 30, to=20), True), ('{"kind":"eval","st', True),
                              (event("restore", 10), False), (event("plan", 0), False), (event("extend", 30, to=19), False),
                              (event("rewind", 30, to=10), False)):
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory, "events.jsonl")
                path.write_text(event("eval", 10) + scores + behind)
                found = {kind: number for kind, number in told_of(path, 20).items() if number}
                self.assertEqual(found, {"eval": 1, "mistakes": 1, "sample": 2} if whole else {}, behind)
        self.assertEqual(told_of(Path("nowhere"), 20), {})

    def test_attempts_have_files_of_their_own(self):
        with tempfile.TemporaryDirectory() as directory:
            for _ in range(3):
                tensorboard.Writer(directory).close()
            self.assertEqual(len(list(Path(directory).iterdir())), 3)


if __name__ == "__main__":
    unittest.main()
