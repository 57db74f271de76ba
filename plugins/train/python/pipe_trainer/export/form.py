"""Shared by the forms of an export: how matrices lie in transformers, and the ids that its configs name."""

import numpy as np


class Unreadable(Exception):
    """A model that this trainer cannot compute; the message says why."""


def to_out_in(values, inputs):
    """Flattens [in..., out...], with `inputs` axes of input, to the matrix [out, in] of transformers. None: a
    vector."""
    if inputs is None:
        return values
    return values.reshape(int(np.prod(values.shape[:inputs])), -1).T


def from_out_in(matrix, inputs, outputs):
    """The way back: [out, in] to [*inputs, *outputs]. A vector, with inputs (), stays."""
    if not inputs:
        return matrix.reshape(outputs)
    if matrix.shape != (int(np.prod(outputs)), int(np.prod(inputs))):
        raise ValueError(f"{matrix.shape} instead of {(int(np.prod(outputs)), int(np.prod(inputs)))}")
    return np.ascontiguousarray(matrix.T).reshape(*inputs, *outputs)


def stacked(tensors, names, inputs, outputs):
    """The tensors of all layers as one array."""
    return np.stack([from_out_in(tensors[name], inputs, outputs) for name in names])


def padded(table, rows):
    """A table of the vocabulary, filled up to the rows that the trainer has."""
    return np.pad(table, ((0, rows - len(table)), *((0, 0),) * (table.ndim - 1)))


def special_ids(tokenizer):
    """Returns the members of config.json about ids of the tokenizer of packed.json."""
    eos, pad = (tokenizer[f"{name}_id"] if tokenizer[f"{name}_id"] >= 0 else None for name in ("eos", "pad"))
    return {"bos_token_id": eos, "eos_token_id": eos, "pad_token_id": pad}  # eos begins a document
