"""The measurements in bench/ find the parts of the trainer that they name."""

import importlib.util
import sys
import unittest
from pathlib import Path

import session  # noqa: F401

BENCH = Path(__file__).resolve().parents[2] / "bench"


class BenchTest(unittest.TestCase):
    def test_measurements_of_the_trainer_can_be_loaded(self):
        found = [path for path in sorted(BENCH.glob("*.py")) if "from pipe_trainer" in path.read_text()]
        self.assertGreaterEqual(len(found), 5)
        sys.path.insert(0, str(BENCH))
        for path in found:
            with self.subTest(path.name):
                spec = importlib.util.spec_from_file_location(path.stem, path)
                spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "__main__":
    unittest.main()
