"""Reads safetensors by the description of the format, and int8.safetensors by its page."""

import json
import struct
from pathlib import Path

import numpy as np

TYPES = {"F32": "<f4", "I8": "i1"}


def read(path):
    """The format: a size, JSON, bytes."""
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    return {name: np.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], TYPES[entry["dtype"]]).reshape(
        entry["shape"]) for name, entry in header.items()}


def read_int8(path):
    found = read(path)
    scales = {name.removesuffix(".scale"): found.pop(name) for name in [*found] if name.endswith(".scale")}
    return {name: values * scales[name][:, None] if values.dtype == np.int8 else values
            for name, values in found.items()}
