"""A step on two slices compiles, and only gradients cross the network between them, in the program of libtpu."""

import math
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import places  # noqa: E402, F401

from pipe_trainer import fit  # noqa: E402
from pipe_trainer.run import candidates, compiled, devices, job, slices  # noqa: E402

os.environ.update(compiled.WITHOUT_CHIPS)
# libtpu marks a transfer over the network between slices so; the shape is that of a device's part.
TRANSFER = re.compile(r"= \(\w+\[([\d,]*)\].* send\(.*_xla_megascale_transfer_type=\"(\w+)\"")


class TwoSlices(unittest.TestCase):
    def test_each_device_sends_its_part_of_the_gradients_alone(self):
        devices.random_numbers()
        mistakes = []
        config = job.parse_config({"preset": "tiny", "model": {"layers": 1, "d": 128, "attention": "reference"},
                                   "mesh": {"fsdp": 2, "tensor": 2}, "batch": {"rows": 8}}, mistakes)
        self.assertEqual(mistakes, [])
        config, two = fit.shaped(config, 128, 256), slices.parse("2xv5e-4")
        there = compiled.topology(two)
        self.assertEqual([device.slice_index for device in there], [0] * 4 + [1] * 4)
        mixed = [device for pair in zip(there[:4], there[4:]) for device in pair]
        sent = TRANSFER.findall(compiled.lowered(config, mixed).compile().as_text())
        self.assertEqual({kind for _, kind in sent}, {"ALL_REDUCE"})
        numbers = sum(math.prod(int(size) for size in shape.split(",") if size) for shape, _ in sent)
        part = candidates.count(config.model) / 4
        self.assertGreater(numbers, part)
        self.assertLess(numbers, 2 * part)  # with fsdp over the network, it is 4.7 times the part


if __name__ == "__main__":
    unittest.main()
