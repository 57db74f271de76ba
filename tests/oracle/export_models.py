"""For export_models_test.py, with the trainer's Python.

export_models.py DIRECTORY          writes exports of each family with random parameters, and our logits beside them
export_models.py --read DIRECTORY   reads each model in it, and writes our logits beside it
"""

import dataclasses
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "trainer"))

import places  # noqa: E402, F401
import tiny_tokenizer  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from pipe_trainer import config  # noqa: E402
from pipe_trainer.data import labels, number_labels  # noqa: E402
from pipe_trainer.export import export, initial  # noqa: E402
from pipe_trainer.model import families, lora, model, t5  # noqa: E402
from pipe_trainer.objectives import registry  # noqa: E402

LENGTH = 32
SHAPE = {"layers": 2, "d": 48, "heads": 4, "ff": 80, "seq_len": LENGTH}
LONG = 300  # positions, for the buckets of distances
READ = [2, 7, 260, 299, 5, 31, 8, 100, 4, 77, 12, 45, 46, 47, 50, 51, 200, 201, 202, 203, 204]
LABELS = labels.parse([{"name": "bad", "ids": [5]}, {"name": "so", "ids": [6]}, {"name": "good", "ids": [7]}])
NUMBERS = number_labels.Numbers(mean=3.5, deviation=0.7)
GIVEN = [0, 8, 9, 10, 120, 121, 250]
MODELS = {
    "llama": ({"family": "llama", "kv_heads": 2}, {}),
    "llama-untied": ({"family": "llama", "tied": False, "head_dim": 8}, {}),
    "bert": ({"family": "bert", "norm_eps": 1e-12}, {"name": "masked"}),
    "bert-labels": ({"family": "bert", "norm_eps": 1e-12}, {"name": "classes"}),
    "bert-number": ({"family": "bert", "norm_eps": 1e-12}, {"name": "regression"}),
    "t5": ({"family": "t5", "tied": False, "norm_eps": 1e-6, "head_dim": 16}, {"name": "spans"}),
    "t5-tied": ({"family": "t5", "norm_eps": 1e-6}, {"name": "prefix"}),
    "t5-first": ({"family": "t5", "gated": False, "norm_eps": 1e-6}, {"name": "spans"}),
}
MODELS |= {f"{name}-lora": MODELS[name] for name in ("llama", "bert", "t5")}  # our logits before adapters are merged
SOME = {"family": "t5", "norm_eps": 1e-6, "experts": 4, "expert_every": 2}
EXPERTS = {
    "experts": ({**SOME, "tied": False, "head_dim": 16}, {"name": "spans"}),
    "experts-tied": ({**SOME, "expert_every": 1, "expert_top": 3}, {"name": "prefix"}),
    "experts-narrow": ({**SOME, "expert_every": 1, "expert_eval_capacity": 0.7}, {"name": "prefix"}),
}


def parameters(shapes, seed=0):
    """Nothing is 0 or 1: a parameter that is left out would not be noticed."""
    chance = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: np.asarray(chance.normal(size=leaf.shape) * 0.15 + (leaf.ndim == 1), np.float32),
                        shapes)


def adapted(params, shape):
    """The same parameters, with an adapter of each matrix."""
    wanted = config.Lora(rank=3, targets=tuple(families.matrices(shape)))
    adapters = jax.eval_shape(lambda: lora.fresh(wanted, params, jax.random.key(0)))
    return lora.attached(wanted, params, parameters(adapters, seed=1))


def padded_rows():
    """Ids that are read and that a decoder has, [2, T] and [2, D], and where they are none: the second row is shorter."""
    read, given = (np.array([ids, ids[::-1]]) for ids in (READ, GIVEN))
    return read, given, *(np.array([[True] * len(ids), [True] * left + [False] * (len(ids) - left)])
                          for ids, left in ((READ, 9), (GIVEN, 3)))


def mixed_logits(params, shape):
    read, given, read_there, given_there = padded_rows()
    hidden = model.forward(params, shape, jnp.asarray(read), layout=(jnp.where(read_there, 0, -1), None),
                           given=(jnp.asarray(given), jnp.where(given_there, 0, -2)))
    return np.asarray(model.logits(params, shape, hidden))[..., :shape.vocab]


def logits(params, shape):
    if shape.experts:
        return mixed_logits(params, shape)
    ids, more = jnp.asarray([READ]), {}
    if shape.family == "t5":
        more = {"layout": (jnp.zeros_like(ids), None),
                "given": (jnp.asarray([GIVEN]), jnp.zeros((1, len(GIVEN)), jnp.int32))}
    hidden = model.forward(params, shape, ids, **more)
    if shape.classes:
        return np.asarray(model.logits(params, shape, hidden[:, :1]))[0, 0, :shape.classes]
    return np.asarray(model.logits(params, shape, hidden))[0, :, :shape.vocab]


def main(directory):
    for name, (shape, objective) in {**MODELS, **EXPERTS}.items():
        whole, vocab = registry.of(config.Config(objective=config.ObjectiveKeys(**objective))).completed(
            tiny_tokenizer.VOCAB, LABELS)
        shape = config.Model(**SHAPE, **shape, vocab=vocab, classes=whole.model.classes).complete()
        params = parameters(model.shapes(shape))
        params = adapted(params, shape) if name.endswith("-lora") else params
        tokenizer = {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}
        named = {None: None, 1: NUMBERS}.get(shape.classes, LABELS)
        export.write(lora.merged(params), shape, tokenizer, {}, directory / name,
                     marks=registry.of(whole).marks(), start=whole.objective.start, named=named)
        found = logits(params, shape)  # those of a number are in standard units
        np.save(directory / f"{name}.npy", found * NUMBERS.deviation + NUMBERS.mean if shape.classes == 1 else found)
    (directory / "ids.json").write_text(json.dumps({"read": READ, "given": GIVEN}))
    distances = np.arange(LONG)[None, :] - np.arange(LONG)[:, None]
    np.savez(directory / "experts.npz", *padded_rows(), *(t5.buckets(distances, both) for both in (True, False)))


def read(directory):
    for place in sorted(path for path in directory.iterdir() if path.is_dir()):
        start = initial.Initial(place)
        shape = dataclasses.replace(start.adopt(config.Config(), ()).model, seq_len=LENGTH).complete()
        np.save(directory / f"{place.name}.npy", logits(start.parameters(shape), shape))
    (directory / "ids.json").write_text(json.dumps({"read": READ, "given": GIVEN}))


if __name__ == "__main__":
    read(Path(sys.argv[2])) if sys.argv[1] == "--read" else main(Path(sys.argv[1]))
