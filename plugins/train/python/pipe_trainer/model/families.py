"""The families of models: facts that need no JAX, because a job is checked before JAX is imported."""

from typing import NamedTuple


class Family(NamedTuple):
    causal: bool       # a position sees only those before it; else its whole document
    mlp: int           # matrices of the MLP of a layer, with its gate
    decoder: bool = False  # an encoder reads, and a decoder of as many layers writes: `pairs`
    experts: bool = False  # layers may have `experts`
    exports: tuple = ("transformers",)  # programs that read an export
    model_types: tuple = ()  # values of `model_type` in a config.json that is read; of t5 the second has experts


FAMILIES = {
    "llama": Family(causal=True, mlp=3, exports=("transformers", "llama.cpp"), model_types=("llama",)),
    "lm1b": Family(causal=True, mlp=2, exports=()),
    "bert": Family(causal=False, mlp=2, model_types=("bert",)),
    "t5": Family(causal=False, mlp=3, decoder=True, experts=True, model_types=("t5", "pipe_t5_experts")),
}


def matrices(model):
    """Returns {name: (inputs, outputs)} of the matrices between hidden states."""
    wide, narrow = model.heads * model.head_dim, model.kv_heads * model.head_dim
    found = {"wq": (model.d, wide), "wk": (model.d, narrow), "wv": (model.d, narrow), "wo": (wide, model.d)}
    if mlp(model) == 3:
        found["w_gate"] = (model.d, model.ff)
    found |= {"w_up": (model.d, model.ff), "w_down": (model.ff, model.d)}
    return {**found, "dense": (model.d, model.d)} if model.family == "bert" else found


def mlp(model):
    """Returns the number of matrices of the MLP of a layer."""
    return of(model).mlp - (not model.gated)


def learned_whole(model):
    """Returns the names of the parameters that adapters are too small for, because they may be fresh: a head over
    labels, the parts of `next_sentence`."""
    return ("readout",) * bool(model.classes) + ("pooler", "types") * model.next_sentence


def of(model):
    """Returns the facts of the family of a config.Model."""
    return FAMILIES[model.family]
