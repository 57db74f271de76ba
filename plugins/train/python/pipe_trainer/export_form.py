"""Shared by the forms of an export: how matrices lie in transformers, and the ids that its configs name."""

import numpy as np


def to_out_in(values, inputs):
    """Flattens [in..., out...], with `inputs` axes of input, to the matrix [out, in] of transformers. None: a
    vector."""
    if inputs is None:
        return values
    return values.reshape(int(np.prod(values.shape[:inputs])), -1).T


def special_ids(tokenizer):
    """Returns the members of config.json about ids of the tokenizer of packed.json."""
    eos, pad = (tokenizer[f"{name}_id"] if tokenizer[f"{name}_id"] >= 0 else None for name in ("eos", "pad"))
    return {"bos_token_id": eos, "eos_token_id": eos, "pad_token_id": pad}  # eos begins a document
