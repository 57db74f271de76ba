"""Which leaves are matrices, by name, and which of their last axes are inputs and outputs. Axes before these (layers,
experts) count matrices. All other leaves are vectors along their last axis.
"""

import jax

# (input axes, output axes). An embedding takes ids: its rows are its inputs.
MATRICES = {
    "embed": (1, 1), "position_embed": (1, 1), "types": (1, 1), "head": (1, 1), "dense": (1, 1), "labels": (1, 1),
    "next": (1, 1),
    "wq": (1, 2), "wk": (1, 2), "wv": (1, 2), "wo": (2, 1),
    "w_gate": (1, 1), "w_up": (1, 1), "w_down": (1, 1),
    "router": (1, 1), "experts_gate": (1, 1), "experts_up": (1, 1), "experts_down": (1, 1),
}
# The adapter of a matrix between hidden states (`lora`): A from its inputs to the rank, B from there to its outputs.
A, B = "_a", "_b"
for _name in ("dense", "wq", "wk", "wv", "wo", "w_gate", "w_up", "w_down"):
    MATRICES |= {_name + A: (MATRICES[_name][0], 1), _name + B: (1, MATRICES[_name][1])}
TABLES = ("embed", "position_embed", "types")  # where ids, positions and segments become hidden states
ENDS = (*TABLES, "head", "labels", "next", "router")  # and hidden states logits


def hidden(name):
    """Whether a leaf is matrices between hidden states."""
    return name in MATRICES and name not in ENDS


def inputs(name, axes):
    """The input axes of a leaf of so many axes; () for a vector."""
    come, go = MATRICES.get(name, (0, 0))
    return tuple(range(axes - come - go, axes - go))


def outputs(name, axes):
    """The output axes; that of a vector is its last."""
    go = MATRICES.get(name, (0, 1))[1]
    return tuple(range(axes - go, axes))


def own(name, axes):
    """The axes of one matrix or vector."""
    return inputs(name, axes) + outputs(name, axes)


def averaged(name, axes):
    """The axes over which Amos takes one mean: the inputs of an output, the embedding of an id, a whole vector."""
    return (inputs(name, axes) or outputs(name, axes)) if name not in TABLES else outputs(name, axes)


# What an optimiser keeps under these names lacks axes of its leaf.
LACKING = {"rows": outputs, "columns": inputs, "squares": averaged, "progress": averaged}


def without(axes, shape):
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def mapped(function, tree, *others):
    """A tree of function(name, leaf, …)."""
    return jax.tree_util.tree_map_with_path(lambda path, *leaves: function(path[-1].key, *leaves), tree, *others)


def picked(tree, wanted):
    """The leaves whose names are wanted, at their places. A dict of which none is left goes as well."""
    found = {name: picked(part, wanted) if isinstance(part, dict) else part
             for name, part in tree.items() if isinstance(part, dict) or wanted(name)}
    return {name: part for name, part in found.items() if not isinstance(part, dict) or part}


def joined(one, other):
    """Both trees in one; no leaf is in both."""
    return {**one, **other, **{name: joined(one[name], other[name]) for name in one.keys() & other.keys()}}
