"""The memory of a device, and the part of it that a compiled program takes."""

import re
from dataclasses import asdict, dataclass

import jax

from ..processes import of_all
from . import slices

GIB = slices.GIB
SHARE = 0.96  # of a device, for a step; rows in transfer, metrics and gaps take the rest


def of_device(device):
    """Returns the bytes that programs may take; None if nothing bounds them, as on a CPU, or if they are unknown."""
    if device.platform == "cpu":
        return None
    generation = slices.generation_of(device.device_kind)
    try:
        told = (device.memory_stats() or {}).get("bytes_limit")
    except Exception:  # if the device is not there, each version of JAX raises another error
        told = None
    if told or generation is None:
        return told
    return int(slices.GENERATIONS[generation].gib * GIB)


def of_each(devices):
    """Returns the bytes that programs may take on each of these devices; None as of_device. A process knows the memory
    of its own devices alone, so several processes exchange their answers and take the least; None if one has none. All
    processes call it together: with different answers they would wait for each other for ever."""
    own = of_device(next((one for one in devices if one.process_index == jax.process_index()), devices[0]))
    answers = of_all(own)
    return None if None in answers else min(answers)


@dataclass(frozen=True)
class Figure:
    """The compiler's figures of a step, for each device."""
    peak: int | None = None         # bytes; also if the program does not fit
    arguments: int | None = None
    temporaries: int | None = None
    flops: float | None = None      # as the compiler counts them, with the body of a loop once
    seconds: float = 0.0            # of the compilation
    error: str | None = None        # why it did not compile, if memory is not the reason
    died: bool = False              # the compiler itself ended

    def fits(self, usable):
        return self.error is None and self.peak is not None and self.peak <= usable * SHARE

    def shown(self):
        """Returns the sizes in GiB for hello, config.json and result.json."""
        return {f"{name}_gib": round(value / GIB, 6) for name, value in asdict(self).items()
                if name in ("peak", "arguments", "temporaries") and value is not None}


UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
NUMBER = r"([\d.]+)\s*([KMG]?)i?B?"
TOO_MUCH = (re.compile(rf"Used {NUMBER} of [\d.]+", re.I), re.compile(rf"Total hbm usage >= {NUMBER}", re.I),
            re.compile(rf"allocat\w* {NUMBER}", re.I),
            re.compile(rf"total memory required for [\w ]+\({NUMBER}\) exceeds available HBM", re.I))


def taken(text):
    """Returns the bytes in a compiler's message about too little memory; None if it names none."""
    for pattern in TOO_MUCH:
        found = pattern.search(text)
        if found:
            return int(float(found[1]) * UNITS[found[2].upper()])
    return None


def is_too_much(text):
    return "RESOURCE_EXHAUSTED" in text or "Ran out of memory" in text or "out of memory" in text.lower()


def is_of_device(text):
    """Returns whether a message that is_too_much is about a device's memory, not about this machine's."""
    return re.search(r"\bHBM\b|memory space \w+|\bvmem\b", text, re.I) is not None
