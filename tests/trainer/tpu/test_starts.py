"""Steps of models compile for each generation of TPUs, without their chips: test_starts.py SLICE.

Two layers, few rows and few ids are enough: kernels and types are those of a whole model, and programs do not grow with
depth.
"""

import os
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import places  # noqa: E402, F401

from pipe_trainer import exits, fit  # noqa: E402
from pipe_trainer.run import candidates, compiled, devices, job, slices  # noqa: E402

os.environ.update(compiled.WITHOUT_CHIPS)
# `./dev tpu-fit` has every preset on every slice; test_fits.py has ja-0.1b on two of them.
PRESETS = {"v2-8": ("lm1b",), "v3-8": ("tiny", "lm1b"), "v4-8": ("tiny", "ja-0.1b"), "v5e-8": ("tiny",), "v6e-8": ("ja-0.1b",)}


def starts(slice_, preset):
    mistakes = []
    config = job.parse_config({"preset": preset, "model": {"layers": 2}, "batch": {"rows": slice_.devices}}, mistakes)
    if mistakes:
        raise exits.BadJob(mistakes)
    config = fit.shaped(config, 512, 8000)
    first = candidates.ladder(config, slice_.devices)[0]
    return compiled.figure_of(first.of(config), compiled.topology(slice_))


class Starts(unittest.TestCase):
    asked = tuple(PRESETS)

    def test_the_compiler_knows_every_slice_that_has_a_name(self):
        for slice_ in slices.every():
            with self.subTest(slice=slice_.name):
                found = compiled.topology(slice_)
                self.assertEqual(len(found), slice_.devices)
                self.assertEqual(slices.of_devices(found[0].device_kind, len(found)), slice_)

    def test_each_preset_compiles_and_fits(self):
        devices.random_numbers()
        for name in self.asked:
            slice_ = slices.parse(name)
            for preset in PRESETS[name]:
                with self.subTest(slice=name, preset=preset):
                    figure = starts(slice_, preset)
                    self.assertIsNone(figure.error)
                    self.assertTrue(figure.fits(slice_.bytes), figure)
                    print(f"{name} {preset}: {figure.peak / slices.GIB:.2f} GiB, {figure.seconds:.0f} s, of the processor "
                          f"{time.process_time():.0f} s so far", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Starts.asked = [sys.argv.pop()]
    unittest.main()
