"""Leaner weights of an export: pruned, in 8 bits, or in the types of GGUF; and each weight as a reader of these has it.

A tensor is (name in transformers, shape, function that gives the float32 values), as in the forms of an export."""

import re

import numpy as np

from ..data import sentencepiece_model
from . import gguf, gguf_llama, int8

LAYER = re.compile(r"(^|\.)(layers?|block)\.\d+\.")  # in the name of each tensor of a layer
NO_PRODUCT = "relative_attention_bias.weight"        # a table of T5's distances
VOCABULARY = ("model.embed_tokens.weight", "lm_head.weight", "shared.weight", "bert.embeddings.word_embeddings.weight")
INT8 = "int8.safetensors"


def is_of_layer(name, shape):
    """Returns whether a tensor is a matrix between hidden states, which pruning takes weights from."""
    return len(shape) == 2 and LAYER.search(name) is not None and not name.endswith(NO_PRODUCT)


def is_in_8_bits(name, shape):
    return is_of_layer(name, shape) or name in VOCABULARY


def pruned(tensors, share):
    """Returns the tensors with zeros for a share of each matrix of a layer."""
    def made(name, shape, values):
        return (lambda: without_least(values(), share)) if is_of_layer(name, shape) else values
    return [(name, shape, made(name, shape, values)) for name, shape, values in tensors]


def without_least(matrix, share):
    """Returns a matrix in which the given share of the weights, rounded down, is 0: those of least magnitude, and of
    equal ones the first."""
    size = np.abs(matrix).ravel()
    count = int(share * size.size)
    if count == 0:
        return matrix
    limit = np.partition(size, count - 1)[count - 1]
    gone = size < limit
    gone[np.flatnonzero(size == limit)[:count - int(gone.sum())]] = True
    return np.where(gone.reshape(matrix.shape), np.float32(0), matrix)


def files_of(wanted):
    """Returns {file: its type of weights} of the files that `wanted`, a config.Export, adds to an export."""
    return {**({INT8: "int8"} if wanted.int8 else {}),
            **{f"model-{kind}.gguf": kind for kind in gguf.KINDS[wanted.gguf]}}


def as_read(tensors, kind):
    """Returns {name: values} as a reader of a file with weights of a type has them. Raises gguf.Beyond for a weight
    that the type cannot hold."""
    if kind == "float32":
        return {name: values() for name, _, values in tensors}
    if kind == "int8":
        return {name: int8.as_read(values()) if is_in_8_bits(name, shape) else values()
                for name, shape, values in tensors}
    return {name: gguf.as_read(name, values(), kind) for name, _, values in tensors}


def write(path, kind, tensors, config, tokenizer, file, name):
    """Writes a file with weights of a type. `file`: that of the tokenizer; `tokenizer`, `name`: of gguf_llama."""
    if kind == "int8":
        int8.write(path, tensors, is_in_8_bits)
    else:
        model = sentencepiece_model.read(file.read_bytes())
        gguf_llama.write(path, tensors, config, tokenizer, model, name, kind)


def zeros(tensors):
    """Returns the share of zeros in the matrices of the layers."""
    counts = [(np.count_nonzero(values() == 0), values().size) for name, shape, values in tensors
              if is_of_layer(name, shape)]
    return sum(zero for zero, _ in counts) / max(sum(size for _, size in counts), 1)
