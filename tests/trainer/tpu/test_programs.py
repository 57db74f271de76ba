"""The digest of a step's program, by which `./dev tpu-fit` keeps an answer, is the same wherever the environment lies."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import places  # noqa: E402, F401

from pipe_trainer import fit  # noqa: E402
from pipe_trainer.run import candidates, compiled, job, slices  # noqa: E402


class Digests(unittest.TestCase):
    def digest(self, environment, rows):
        slice_, mistakes = slices.parse("v3-8"), []
        config = fit.shaped(job.parse_config({"preset": "tiny", "batch": {"rows": rows}}, mistakes), 1024, 256)
        self.assertEqual(mistakes, [])
        config = candidates.first(config, slice_.devices)
        with mock.patch.object(sys, "executable", str(environment / "bin" / "python")):
            found = compiled.ask(config, slice_, digest=True)
        self.assertIn("digest", found)
        return found["digest"]

    def test_it_tells_programs_apart_and_not_places(self):
        with tempfile.TemporaryDirectory() as directory:
            elsewhere = Path(directory) / "environment"
            elsewhere.symlink_to(sys.prefix)
            here = self.digest(Path(sys.prefix), 8)
            self.assertEqual(self.digest(elsewhere, 8), here)
            self.assertNotEqual(self.digest(elsewhere, 16), here)


if __name__ == "__main__":
    unittest.main()
