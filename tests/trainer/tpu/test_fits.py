"""A whole preset on a whole slice, as in `pipe trainer fit`: test_fits.py SLICE.

The compiler runs in a process of its own, as in the command.
"""

import contextlib
import io
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import places  # noqa: E402, F401

from pipe_trainer import fit  # noqa: E402
from pipe_trainer.run import slices  # noqa: E402

SLICES = ("v3-8", "v5e-8")


class Fits(unittest.TestCase):
    asked = SLICES

    def test_the_japanese_preset_fits_with_a_choice_of_its_own(self):
        for name in self.asked:
            with self.subTest(slice=name):
                question = json.dumps({"config": {"preset": "ja-0.1b"}, "seq_len": 1024, "vocab": 32000, "steps": 1000})
                out, sys.stdin = io.StringIO(), io.StringIO(question)
                with contextlib.redirect_stdout(out):
                    code = fit.main(["-", "--on", name, "--json"])
                found = json.loads(out.getvalue())
                self.assertEqual(code, 0, found)
                self.assertTrue(found["fits"])
                self.assertLessEqual(found["programs"], 2)
                self.assertLess(found["peak_gib"], slices.parse(name).bytes / slices.GIB)
                self.assertGreater(found["peak_gib"], 0.3 * slices.parse(name).bytes / slices.GIB)
                print(fit.text_of(found, 1000, 4.5), file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Fits.asked = [sys.argv.pop()]
    unittest.main()
