"""The forms of an export: the tensors of transformers in which the leaves of a model lie, and its config.json."""

from math import prod

import numpy as np

from ..data.vocabulary import begin_of
from ..model import model
from ..model.matrices import TABLES, inputs

# Leaves with an axis of ids or of labels, which the trainer fills up; it is the first axis in transformers.
FILLED = ("embed", "head", "ids_bias", "labels", "labels_bias")


class Unreadable(ValueError):
    """A model that this trainer cannot compute; the message says why."""


class Form:
    """The form of a family, which has `names(config)`: yields (path of a leaf, the index of a part of it or None, the
    name of its tensor) in the order of the file. An index is a layer, or a group of layers and an expert. The parts of
    a leaf come in the order of the leaf."""
    FAMILY = ""        # of its models
    READABLE = {}      # members of config.json that this trainer knows with these values alone

    def theirs(self, params, config):
        """Returns the parameters with the leaves that transformers alone has."""
        return params

    def ours(self, params):
        """The way back."""
        return params

    def has_next_sentence(self, names):
        """Whether a model of `next_sentence` has tensors of these names."""
        return False

    def tensors_of(self, params, config):
        """Yields (name, shape, function that gives the values) in the order of the file."""
        params = self.theirs(params, config)
        for path, index, name in self.names(config):
            leaf = np.asarray(leaf_of(params, path))
            values = to_out_in(path[-1], leaf if index is None else leaf[index])
            if path[-1] in FILLED:
                values = values[:config.classes if path[-1].startswith("labels") else config.vocab]
            yield name, values.shape, lambda values=values: np.asarray(values, np.float32)

    def parameters_of(self, tensors, config):
        """`tensors`: those of the file, by name. It is emptied: a large model is in memory twice at most."""
        shapes, found = self.theirs(model.shapes(config), config), {}
        for path, index, name in self.names(config):
            shape = leaf_of(shapes, path).shape
            part = from_out_in(path[-1], tensors.pop(name), shape if index is None else shape[np.size(index):])
            found.setdefault(path, []).append(part)
            if index is None:
                found[path] = part
        params = {}
        for path in list(found):
            (*way, last), leaf = path, found.pop(path)
            place = params
            for key in way:
                place = place.setdefault(key, {})
            whole = isinstance(leaf, list)
            place[last] = np.stack(leaf).reshape(leaf_of(shapes, (*way, last)).shape) if whole else leaf
        return self.ours(params)


def leaf_of(params, path):
    for key in path:
        params = params[key]
    return params


def to_out_in(name, values):
    """Brings a matrix [in..., out...] to [out, in], as transformers has it. A table or a vector stays."""
    come = inputs(name, values.ndim)
    if name in TABLES or not come:
        return values
    return values.reshape(prod(values.shape[:len(come)]), -1).T


def from_out_in(name, values, shape):
    """The way back, to the shape of the leaf. A table of positions may be longer."""
    come = () if name in TABLES else inputs(name, len(shape))
    if name in FILLED:
        values = np.pad(values, ((0, shape[-1 if come else 0] - len(values)), *((0, 0),) * (values.ndim - 1)))
    if come:
        wanted = prod(shape[len(come):]), prod(shape[:len(come)])
        if values.shape != wanted:
            raise ValueError(f"{values.shape} instead of {wanted}")
        return np.ascontiguousarray(values.T).reshape(shape)
    return values if name == "position_embed" else values.reshape(shape)


def special_ids(tokenizer):
    """Returns the members of config.json about ids of the tokenizer of packed.json."""
    eos, pad = (tokenizer[f"{name}_id"] if tokenizer[f"{name}_id"] >= 0 else None for name in ("eos", "pad"))
    if begin_of(tokenizer) is not None:  # BERT's config.json has neither of the others
        return {"pad_token_id": pad}
    return {"bos_token_id": eos, "eos_token_id": eos, "pad_token_id": pad}  # eos begins a document
