"""Slices of TPUs by name: the number of devices, the memory of a device, the name of the slice in libtpu. 2xv5e-16 are
two slices v5e-16 with a slower network between them."""

import re
from dataclasses import dataclass

from ..exits import BadJob

GIB = 1 << 30


@dataclass(frozen=True)
class Generation:
    """Devices are counted as in JAX: a core of v2 and v3, a chip of the others."""
    kind: str             # the beginning of device_kind
    tflops: float         # published peak of a device: bf16, dense
    gib: float            # memory of a device, for a program
    per_name: int         # units of a name's number for each chip; 2: the number counts cores
    per_chip: int         # devices of a chip
    per_host: int         # chips of a machine
    shapes: dict          # number of chips: shape of the slice in libtpu


FLAT = {1: "1x1", 4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8", 64: "8x8", 128: "8x16", 256: "16x16"}
SQUARE = {4: "2x2", 16: "4x4", 32: "4x8", 64: "8x8", 128: "8x16", 256: "16x16"}
CUBE = {4: "2x2x1", 8: "2x2x2", 16: "2x2x4", 32: "2x4x4", 64: "4x4x4", 128: "4x4x8", 256: "4x8x8"}
GENERATIONS = {
    "v2": Generation("TPU v2", 23, 7.48, 2, 2, 4, SQUARE),
    "v3": Generation("TPU v3", 61.5, 15.48, 2, 2, 4, SQUARE),
    "v4": Generation("TPU v4", 275, 30.75, 2, 1, 4, CUBE),
    "v5e": Generation("TPU v5 lite", 197, 15.75, 1, 1, 8, FLAT),
    "v5p": Generation("TPU v5", 459, 95.0, 2, 1, 4, CUBE),
    "v6e": Generation("TPU v6 lite", 918, 31.25, 1, 1, 8, FLAT),
}
OTHER_NAMES = {"v5litepod": "v5e", "v6litepod": "v6e"}
OTHER_KINDS = {"TPU v5e": "v5e", "TPU v5p": "v5p", "TPU v6e": "v6e"}


@dataclass(frozen=True)
class Slice:
    generation: str
    chips: int      # of each slice
    slices: int = 1

    @property
    def _facts(self):
        return GENERATIONS[self.generation]

    @property
    def name(self):
        return f"{self.slices}x" * (self.slices > 1) + f"{self.generation}-{self.chips * self._facts.per_name}"

    @property
    def devices(self):
        return self.slices * self.chips * self._facts.per_chip

    @property
    def hosts(self):
        return self.slices * -(-self.chips // self._facts.per_host)

    @property
    def topology(self):
        return f"{self.generation}:{self._facts.shapes[self.chips]}"

    @property
    def options(self):
        """Options of libtpu's topology. Without them each of the two cores of a v4 or a v5p is a device, a machine has
        four chips, and there is one slice."""
        words = {"chip_config_name": "megacore"} if self._facts.per_name > self._facts.per_chip else {}
        words |= {"chips_per_host_bounds": [1, 1, 1]} if self.chips == 1 else {}
        return words | ({"num_slices": self.slices} if self.slices > 1 else {})

    @property
    def bytes(self):
        """The memory of a device."""
        return int(self._facts.gib * GIB)


def parse(name):
    """Parses a name: v3-8, v5litepod-4, 2xv5e-16 and the like. Raises BadJob."""
    found = re.fullmatch(r"(?:([1-9]\d{0,2})x)?(v\d+[a-z]*)-(\d{1,6})", name)
    generation = found and OTHER_NAMES.get(found[2], found[2])
    if generation not in GENERATIONS:
        raise BadJob([f"--on {name[:40]}: is no slice of {', '.join(GENERATIONS)}, such as v3-8, v5e-4 or 2xv5e-16"])
    facts = GENERATIONS[generation]
    chips, rest = divmod(int(found[3]), facts.per_name)
    if rest or chips not in facts.shapes:
        raise BadJob([f"--on {name}: there is no such slice; there are "
                      + ", ".join(Slice(generation, size).name for size in facts.shapes)])
    return Slice(generation, chips, int(found[1] or 1))


def generation_of(kind):
    """Returns the generation of a device_kind; None if it is no TPU known here."""
    if kind in OTHER_KINDS:
        return OTHER_KINDS[kind]
    found = [name for name, facts in GENERATIONS.items() if kind.startswith(facts.kind)]
    return max(found, key=lambda name: len(GENERATIONS[name].kind), default=None)


def of_devices(kind, count, slices=1):
    """Returns the slice, or the slices of one size, of `count` devices of a kind; None if they are none."""
    generation = generation_of(kind)
    if generation is None:
        return None
    chips, rest = divmod(count, GENERATIONS[generation].per_chip * slices)
    return Slice(generation, chips, slices) if not rest and chips in GENERATIONS[generation].shapes else None


def every(generation=None):
    """Returns all single slices of a generation, or of all, from the smallest total memory to the largest."""
    found = [Slice(name, chips) for name, facts in GENERATIONS.items() for chips in facts.shapes
             if generation in (None, name)]
    return sorted(found, key=lambda one: (one.devices * one.bytes, one.devices))
