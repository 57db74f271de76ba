"""A training never continues from a changed checkpoint, and never starts from the beginning because of one."""

import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import session

import numpy as np

from pipe_trainer import exits
from pipe_trainer.checkpoints import ckpt, digests
from pipe_trainer.data import crc32c, native_reader

STEPS = 4


def flip(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    path.write_bytes(data)


class Digests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = Path(place.name)
        cls.rows = session.random_rows()
        cls.whole = session.trained(cls.job("whole"), cls.rows)

    @classmethod
    def job(cls, name, **members):
        return session.small_job(cls.place / name, checkpoint_every=2, **{"steps": STEPS, **members})

    def copied(self):
        name = self.id().rsplit(".", 1)[1]
        shutil.copytree(self.place / "whole", self.place / name)
        return name, self.place / name / "checkpoints"

    def trained(self, name, **members):
        return session.trained(self.job(name, **members), self.rows)

    def goes_on_from_the_one_before(self, name, words):
        again = self.trained(name, steps=STEPS + 2)
        self.assertEqual([event["step"] for event in again.events.of("restore")], [2])
        self.assertIn(words, again.events.of("warn")[0]["text"])
        for step, loss in again.events.losses().items():
            self.assertEqual(loss, self.whole.events.losses().get(step, loss), step)
        np.testing.assert_array_equal(np.sort(list(again.events.losses())), np.arange(3, STEPS + 3))

    def test_a_flipped_bit_of_any_file_is_found(self):
        checkpoint = self.place / "whole/checkpoints" / str(STEPS)
        self.assertTrue(digests.verify(checkpoint))
        files = [path for path in checkpoint.rglob("*") if path.is_file() and path.stat().st_size]
        self.assertGreater(len(files), 5)
        make = np.random.default_rng(0)
        for path in files:
            before = path.read_bytes()
            for bit in make.integers(0, 8 * len(before), 4):
                flip(path, int(bit))
                with self.assertRaisesRegex(digests.Damaged, f"{path}: has CRC-32C"):
                    digests.verify(checkpoint)
                path.write_bytes(before)
            for after in (before[:-1], before + b"\0"):
                path.write_bytes(after)
                with self.assertRaisesRegex(digests.Damaged, f"{path}: has {len(after)} bytes"):
                    digests.verify(checkpoint)
            path.unlink()
            with self.assertRaisesRegex(digests.Damaged, f"{path}: is gone"):
                digests.verify(checkpoint)
            path.write_bytes(before)
        self.assertTrue(digests.verify(checkpoint))

    def test_a_flipped_bit_of_the_digests_is_found(self):
        checkpoint = self.place / "bits" / "7"
        checkpoint.mkdir(parents=True)
        (checkpoint / "a").write_bytes(b"weights")
        digests.finish(checkpoint)
        before = digests.place(checkpoint).read_bytes()
        for bit in range(8 * len(before)):
            flip(digests.place(checkpoint), bit)
            self.assertFalse(digests.is_unfinished(checkpoint), bit)
            with self.assertRaises(digests.Damaged, msg=f"bit {bit}"):
                digests.verify(checkpoint)
            digests.place(checkpoint).write_bytes(before)

    def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_is_taken(self):
        name, checkpoints = self.copied()
        path = max((checkpoints / str(STEPS)).rglob("*"), key=lambda path: path.stat().st_size * path.is_file())
        flip(path, 8 * (path.stat().st_size // 2))
        self.goes_on_from_the_one_before(name, f"{path}: has CRC-32C")
        aside = [path for path in checkpoints.glob(f"damaged-{STEPS}-*") if path.is_dir()]
        self.assertEqual(len(aside), 1)
        self.assertTrue(digests.place(aside[0]).exists())

    def test_with_none_left_it_never_begins_anew(self):
        name, checkpoints = self.copied()
        for step in (2, STEPS):
            flip(next(path for path in (checkpoints / str(step)).rglob("*") if path.is_file() and path.stat().st_size), 3)
        for _ in range(2):
            with self.assertRaisesRegex(exits.Ended, "none of 2 checkpoints can be read.*damaged-2-") as ended:
                self.trained(name, steps=STEPS + 2)
            self.assertEqual(ended.exception.code, exits.BAD_DATA)

    def test_one_of_an_earlier_version_is_gone_on_from_with_a_note(self):
        name, checkpoints = self.copied()
        for path in checkpoints.glob("*.json"):
            path.unlink()
        again = self.trained(name, steps=STEPS + 2)
        self.assertEqual([event["step"] for event in again.events.of("restore")], [STEPS])
        self.assertIn("has no digests beside it", again.events.of("warn")[0]["text"])
        self.assertEqual(sorted(path.name for path in checkpoints.glob("*.json")), [f"{STEPS + 2}.json"])

    def test_one_without_finished_digests_is_none(self):
        name, checkpoints = self.copied()
        digests.begin(checkpoints / str(STEPS))
        again = self.trained(name, steps=STEPS + 2)
        self.assertEqual([event["step"] for event in again.events.of("restore")], [2])
        self.assertEqual(again.events.of("warn"), [])
        alone, checkpoints = f"{name}-alone", self.place / f"{name}-alone/checkpoints"
        shutil.copytree(self.place / "whole", self.place / alone)
        shutil.rmtree(checkpoints / "2")
        digests.begin(checkpoints / str(STEPS))
        anew = self.trained(alone)
        self.assertEqual(anew.events.of("restore"), [])
        self.assertEqual(anew.events.losses(), self.whole.events.losses())

    def test_an_old_one_goes_when_the_new_one_is_finished(self):
        name, checkpoints = self.copied()
        seen = []
        finish = digests.finish

        def watch(checkpoint, *pinned):
            seen.append(sorted(path.name for path in checkpoints.iterdir() if path.name.isdecimal()))
            finish(checkpoint, *pinned)

        digests.finish = watch
        try:
            self.trained(name, steps=STEPS + 2, keep_checkpoints=1)
        finally:
            digests.finish = finish
        self.assertEqual(seen, [["2", "4", "6"]])
        self.assertEqual(sorted(path.name for path in checkpoints.iterdir()), ["6", "6.json"])

    def test_checksums_of_both_kinds_agree_in_pieces(self):
        data = np.random.default_rng(1).integers(0, 256, 5000).astype(np.uint8)
        whole = crc32c.crc32c(data)
        self.assertEqual(crc32c.crc32c(b"123456789"), 0xE3069283)
        for add in (crc32c.crc32c, native_reader.checksum()):
            for cut in (0, 1, 7, 1024, 4999):
                self.assertEqual(add(data[cut:], add(data[:cut], 0)), whole)

    def test_the_form_is_that_of_a_marker_in_a_bucket(self):
        said = json.loads((self.place / "whole/checkpoints" / f"{STEPS}.json").read_text())
        self.assertEqual(set(said), {"pipe_checkpoint", "step", "files"})
        self.assertEqual((said["pipe_checkpoint"], said["step"]), (1, STEPS))
        for file in said["files"]:
            path = self.place / "whole/checkpoints" / str(STEPS) / file["name"]
            self.assertEqual(file, {"name": file["name"], "bytes": os.path.getsize(path),
                                    "crc32c": f"{crc32c.crc32c(path.read_bytes()):08x}"})


if __name__ == "__main__":
    unittest.main()
