"""int8.safetensors: matrices in 8 bits with a scale for each output: exports.md."""

import numpy as np

from . import safetensors

LIMIT = 127
SCALE = ".scale"  # behind the name of a matrix


def quantised(matrix):
    """Returns (int8 [out, in], float32 scales [out])."""
    matrix = np.asarray(matrix, np.float32)
    scales = (np.abs(matrix).max(axis=1) / np.float32(LIMIT)).astype(np.float32)
    safe = np.where(scales > 0, scales, np.float32(1))[:, None]
    return np.clip(np.rint(matrix / safe), -LIMIT, LIMIT).astype(np.int8), scales


def as_read(matrix):
    """Returns the float32 matrix that a reader of the file has."""
    numbers, scales = quantised(matrix)
    return numbers.astype(np.float32) * scales[:, None]


def write(path, tensors, chosen):
    """`tensors`: of safetensors.write. `chosen(name, shape)`: whether a tensor is written in 8 bits."""
    matrices = [part for part in tensors if chosen(*part[:2])]
    parts = [part for part in tensors if not chosen(*part[:2])]
    parts += [(name + SCALE, shape[:1], lambda values=values: quantised(values())[1])
              for name, shape, values in matrices]
    # Behind the others, so that each float32 lies at a multiple of its size.
    parts += [(name, shape, lambda values=values: quantised(values())[0], "I8") for name, shape, values in matrices]
    safetensors.write(path, parts, metadata={"pipe_int8": "1"})
