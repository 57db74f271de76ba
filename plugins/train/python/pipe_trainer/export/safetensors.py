"""The safetensors format: 8 bytes of header size, a JSON header, the tensors. Written a tensor at a time."""

import json
import math
import os
import struct

import numpy as np

SIZES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2}  # that are read
OTHERS = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "I32": 4, "U32": 4, "I64": 8, "U64": 8}
WRITTEN = {"F32": np.dtype("<f4"), "I8": np.dtype("i1")}
LARGEST_HEADER = 100_000_000  # limit of other readers


class SafetensorsError(Exception):
    """The message names the file, the place and the damage."""


def write(path, tensors, metadata=None):
    """`tensors`: (name, shape, function that returns the values), with I8 behind these if the type is not F32. Calls
    the functions in order, one at a time."""
    header, at = {"__metadata__": {"format": "pt", **(metadata or {})}}, 0
    for name, shape, _, *own in tensors:
        kind = own[0] if own else "F32"
        size = WRITTEN[kind].itemsize * math.prod(shape)
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape, values, *own in tensors:
            written = WRITTEN[own[0] if own else "F32"]
            data = np.ascontiguousarray(values(), written).tobytes()
            if len(data) != written.itemsize * math.prod(shape):
                raise ValueError(f"{name}: {len(data)} bytes do not have shape {shape}")
            file.write(data)
        file.flush()
        os.fsync(file.fileno())


def names(path):
    """Returns the names of the tensors of a file, whose header alone is read."""
    with open(path, "rb") as file:
        return [name for _, name, _, _ in header_of(path, file.read(8), file.read, os.fstat(file.fileno()).st_size)[1]]


def header_of(path, first, rest, whole):
    """Returns (the bytes of the header, its entries in the order of the file). `first`: 8 bytes; `rest` gives so many
    behind them; `whole`: bytes of the file."""
    size = struct.unpack_from("<Q", first)[0] if len(first) >= 8 else 0
    if not 2 <= size <= min(LARGEST_HEADER, whole - 8):
        raise SafetensorsError(f"{path}: damaged at byte 0: the size of the header does not fit the file")
    try:
        header = json.loads(rest(size))
        header.pop("__metadata__", None)
        return size, sorted((entry["data_offsets"], name, entry["dtype"], entry["shape"])
                            for name, entry in header.items())
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise SafetensorsError(f"{path}: damaged header at byte 8: {error}") from None


def read(path):
    """Returns {name: float32 array}, without tensors of other types: older models of BERT have tables of positions.
    Every byte behind the header must belong to a tensor."""
    with open(path, "rb") as file:
        data = file.read()
    size, entries = header_of(path, data[:8], lambda size: data[8:8 + size], len(data))
    found, at, sizes = {}, 0, SIZES | OTHERS
    for (begin, end), name, dtype, shape in entries:
        if begin != at or dtype not in sizes or end - begin != sizes[dtype] * math.prod(shape) \
                or end > len(data) - 8 - size:
            raise SafetensorsError(f"{path}: tensor {name}: {dtype} {shape} at byte {begin} does not fit")
        if dtype in SIZES:
            found[name] = as_values(data[8 + size + begin:8 + size + end], dtype).reshape(shape)
        at = end
    if at != len(data) - 8 - size:
        raise SafetensorsError(f"{path}: {len(data) - 8 - size - at} bytes behind the last tensor")
    return found


def as_values(data, dtype):
    if dtype == "BF16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, f"<f{SIZES[dtype]}").astype(np.float32)
