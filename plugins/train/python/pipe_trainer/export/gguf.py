"""The format GGUF, version 3: metadata, then tensors. exports.md has its grammar and its sources.

Numbers are little-endian. A tensor of two axes [out, in] lies row by row, and its sizes are written as in, out."""

import math
import os
import struct

import numpy as np

MAGIC, VERSION, ALIGNMENT = b"GGUF", 3, 32
# Types of a metadata value, and how struct packs them.
NUMBERS = {"u8": (0, "B"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?")}
TEXT, ARRAY = 8, 9
F32, F16, Q8_0 = 0, 1, 8  # types of a tensor
BLOCK = 32                # numbers of Q8_0 that share a scale
FILE_TYPES = {"f16": 1, "q8_0": 7}  # general.file_type: the type of most tensors
KINDS = {"none": (), "f16": ("f16",), "q8_0": ("q8_0",), "both": ("f16", "q8_0")}  # of files, by `export.gguf`


class Beyond(ValueError):
    """A tensor has a weight that its type cannot hold."""


def type_of(shape, kind):
    """Returns the type of a tensor in a file of a kind: vectors stay float32, and rows that blocks do not fill are
    float16."""
    if len(shape) == 1:
        return F32
    return Q8_0 if kind == "q8_0" and shape[-1] % BLOCK == 0 else F16


def halves(name, values):
    with np.errstate(over="ignore"):
        found = np.asarray(values, np.float32).astype("<f2")
    if not np.isfinite(found).all() and np.isfinite(values).all():
        raise Beyond(f"{name}: a number of {np.abs(values).max():g} is too large for float16")
    return found


def blocks(name, matrix):
    """Returns (float16 scales [n, 1], int8 [n, 32]) of Q8_0. Halves are rounded away from zero, as ggml rounds them."""
    parts = np.ascontiguousarray(matrix, np.float32).reshape(-1, BLOCK)
    scales = np.abs(parts).max(axis=1, keepdims=True) / np.float32(127)
    with np.errstate(divide="ignore"):
        inverse = np.where(scales == 0, np.float32(0), np.float32(1) / scales)
    numbers = parts * inverse
    whole = np.floor(np.abs(numbers))
    numbers = np.sign(numbers) * (whole + np.floor(2 * (np.abs(numbers) - whole)))
    return halves(name, scales), numbers.astype(np.int8)


def stored(name, values, kind):
    """Returns the arrays that a file of a kind has for a tensor, whose product a reader takes. Raises Beyond."""
    type_ = type_of(values.shape, kind)
    if type_ == Q8_0:
        return blocks(name, values)
    return (np.ascontiguousarray(values, "<f4") if type_ == F32 else halves(name, values),)


def as_bytes(name, values, kind):
    """Returns the bytes of a tensor in a file of a kind. Raises Beyond."""
    parts = [np.ascontiguousarray(part) for part in stored(name, values, kind)]
    return np.concatenate([part.reshape(len(part), -1).view(np.uint8) for part in parts], axis=1).tobytes()


def as_read(name, values, kind):
    """Returns the float32 values that a reader of a file of a kind has. Raises Beyond."""
    return math.prod(part.astype(np.float32) for part in stored(name, values, kind)).reshape(values.shape)


def size_of(shape, kind):
    count = int(np.prod(shape))
    return {F32: 4 * count, F16: 2 * count, Q8_0: count // BLOCK * (2 + BLOCK)}[type_of(shape, kind)]


def padding(size):
    return b"\0" * (-size % ALIGNMENT)


def text(value):
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def packed(kind, value):
    """Returns a metadata value with its type. `kind`: of NUMBERS, `text`, or `[kind]` for an array."""
    if kind == "text":
        return struct.pack("<I", TEXT) + text(value)
    if kind == "[text]":
        return struct.pack("<IIQ", ARRAY, TEXT, len(value)) + b"".join(map(text, value))
    if kind.startswith("["):
        number, code = NUMBERS[kind[1:-1]]
        return struct.pack(f"<IIQ{len(value)}{code}", ARRAY, number, len(value), *value)
    number, code = NUMBERS[kind]
    return struct.pack(f"<I{code}", number, value)


def write(path, metadata, tensors, kind):
    """`metadata`: {key: (type, value)}; `tensors`: (name, shape, function that returns the float32 values), which is
    called in order, one at a time. Raises Beyond."""
    head = MAGIC + struct.pack("<IQQ", VERSION, len(tensors), len(metadata))
    head += b"".join(text(key) + packed(*value) for key, value in metadata.items())
    at = 0
    for name, shape, _ in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), type_of(shape, kind), at)
        size = size_of(shape, kind)
        at += size + len(padding(size))
    with open(path, "wb") as file:
        file.write(head + padding(len(head)))
        for name, shape, values in tensors:
            data = as_bytes(name, values(), kind)
            if len(data) != size_of(shape, kind):
                raise ValueError(f"{name}: {len(data)} bytes do not have shape {shape}")
            file.write(data + padding(len(data)))
        file.flush()
        os.fsync(file.fileno())
