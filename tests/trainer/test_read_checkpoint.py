"""tests/readers/checkpoint.py, which was written from the pages, reads the checkpoints of this trainer, and those of a
released one in each form."""

import json
import shutil
import struct
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import session
from places import ROOT

sys.path.insert(0, str(ROOT / "tests/readers"))

import jax  # noqa: E402
import numpy as np  # noqa: E402
import checkpoint  # noqa: E402

STEPS, ROWS = 2, 8
MARKERS = {"directory": "out/runs/*/checkpoints/8.json", "bucket": "runs/*/checkpoints/8/????????????????.json",
           "slice": "runs/*/checkpoints/8/????????????????.json"}


def tensors(path):
    """{name: array} of a safetensors file of float32."""
    data = path.read_bytes()
    size, = struct.unpack_from("<Q", data)
    about = json.loads(data[8:8 + size])
    about.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + size:], np.float32)[slice(*(at // 4 for at in entry["data_offsets"]))].reshape(
        entry["shape"]) for name, entry in about.items()}


class ReadCheckpoint(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = Path(place.name)

    def test_arrays_are_those_of_the_training(self):
        job = session.small_job(self.place / "run", steps=STEPS, checkpoint_every=STEPS)
        state = session.trained(job, session.random_rows()).state
        marker = self.place / "run/checkpoints" / f"{STEPS}.json"
        step, facts, arrays = checkpoint.read(marker)
        self.assertEqual((step, facts["samples_consumed"], facts["seed"]), (STEPS, STEPS * ROWS, job.seed))
        wanted = {jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf)
                  for path, leaf in jax.tree_util.tree_leaves_with_path(state)}
        self.assertEqual(sorted(arrays), sorted(wanted))
        for name, array in wanted.items():
            self.assertEqual(arrays[name].dtype, array.dtype, name)
            np.testing.assert_array_equal(arrays[name], array, name)
        self.refused(marker)

    def test_arrays_of_each_form_are_those_of_the_export(self):
        with tarfile.open(ROOT / "tests/golden/before_rules/trained.tar.xz") as archive:
            archive.extractall(self.place / "released", filter="data")
        for form, pattern in MARKERS.items():
            marker, = (self.place / "released" / form).glob(pattern)
            step, facts, arrays = checkpoint.read(marker)
            export, = (self.place / "released" / form).glob("**/export/model.safetensors")
            wanted = tensors(export)
            self.assertEqual((step, facts["samples_consumed"]), (8, 32), form)
            np.testing.assert_array_equal(arrays["params.final_norm"], wanted["model.norm.weight"])
            embed = wanted["model.embed_tokens.weight"]
            np.testing.assert_array_equal(arrays["params.embed"][:len(embed)], embed)
            down = wanted["model.layers.0.mlp.down_proj.weight"]
            np.testing.assert_array_equal(arrays["params.blocks.w_down"][0].T, down)
            self.refused(marker)

    def refused(self, marker):
        """Neither a changed byte, a missing file nor an unfinished checkpoint is read."""
        about = json.loads(marker.read_text())
        for path in {place for place, _, _ in checkpoint.files_of(marker, about).values()}:
            before = path.read_bytes()
            self.addCleanup(path.write_bytes, before)
            path.write_bytes(before[:-1] + bytes([before[-1] ^ 4]))
            with self.assertRaises(ValueError, msg=path):
                checkpoint.read(marker)
            path.write_bytes(before)
        shutil.move(path, self.place / "aside")
        with self.assertRaisesRegex(ValueError, "is gone"):
            checkpoint.read(marker)
        shutil.move(self.place / "aside", path)
        checkpoint.read(marker)
        marker.write_text(json.dumps({"pipe_checkpoint": 1, "step": about["step"], "unfinished": True}))
        with self.assertRaisesRegex(ValueError, "never finished"):
            checkpoint.read(marker)


if __name__ == "__main__":
    unittest.main()
