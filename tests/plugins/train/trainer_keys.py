"""The plugin checks `config` without Python: its table of the trainer's keys (plugins/train/config/trainer_keys.cc) is that
of the trainer, and both say the same of right and wrong configurations.

Usage: trainer_keys.py PIPE, or trainer_keys.py --write, which makes the table again."""

import json
import subprocess
import sys
import tempfile
import types
from dataclasses import MISSING, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "plugins/train/python"))

from pipe_trainer.config import OWN_DEFAULTS, PRESETS, READ_KEYS, SECTIONS  # noqa: E402
from pipe_trainer.model.families import FAMILIES  # noqa: E402
from pipe_trainer.objectives.registry import learned_by  # noqa: E402
from pipe_trainer.run import job  # noqa: E402

TABLE = ROOT / "plugins/train/config/trainer_keys.cc"
BEGIN, END = 'R"json(', ')json"'
KINDS = {int: "whole", float: "number", bool: "flag", str: "text", tuple: "names"}


def key_of(part):
    kinds = part.type.__args__ if isinstance(part.type, types.UnionType) else (part.type,)
    key = {"type": KINDS[kinds[0]], **{name: value for name, value in part.metadata.items() if value or name != "auto"}}
    if type(None) in kinds:
        key["null"] = True
    assert part.default is not MISSING
    return {**key, "default": part.default}


def table():
    """Returns the lines of the table, a key or a preset each."""
    parts = {
        "sections": {name: {part.name: key_of(part) for part in fields(kind)} for name, kind in SECTIONS.items()},
        "presets": PRESETS, "optimizers": READ_KEYS, "own_defaults": OWN_DEFAULTS,
        "families": {name: {"objectives": learned_by(name), "experts": family.experts}
                     for name, family in FAMILIES.items()},
        "model_types": {kind: name for name, family in FAMILIES.items() for kind in family.model_types}}
    lines = []
    for name, part in parts.items():
        rows = []
        for key, value in part.items():
            if name == "sections":
                below = ",\n".join(f"  {json.dumps(one)}: {json.dumps(facts)}" for one, facts in value.items())
                rows.append(f" {json.dumps(key)}: {{\n{below}}}")
            else:
                rows.append(f" {json.dumps(key)}: {json.dumps(value)}")
        lines.append(f"{json.dumps(name)}: {{\n" + ",\n".join(rows) + "}")
    return "{" + ",\n".join(lines) + "}"


# (config, words of the mistake that both find; None: it is right). `config` is JSON, which YAML can read.
CASES = [
    ({}, None),
    ({"preset": "tiny"}, None),
    ({"preset": "small"}, "config.preset: \"small\""),
    ({"preset": 3}, "config.preset: 3"),
    ({"preset": "ja-1b", "model": {"heads": 18}}, "config.model.kv_heads"),
    ({"modle": {}}, "config.modle: there is no such key"),
    ({"model": 3}, "config.model: wants a map"),
    ({"model": {"layer": 3}}, "config.model.layer: there is no such key"),
    ({"model": {"layers": 0}}, "config.model.layers: wants at least 1"),
    ({"model": {"layers": 2.5}}, "config.model.layers: wants a whole number"),
    ({"model": {"layers": True}}, "config.model.layers: wants a whole number"),
    ({"model": {"kv_heads": None}}, None),
    ({"model": {"layers": None}}, "config.model.layers: wants a whole number"),
    ({"model": {"d": 100, "heads": 3}}, "config.model.heads"),
    ({"model": {"d": 100, "heads": 4}}, "config.model.head_dim"),
    ({"model": {"d": 100, "heads": 3, "head_dim": 32}}, None),
    ({"model": {"family": "bert", "tied": False}, "objective": {"name": "masked"}}, "config.model.family"),
    ({"model": {"family": "gpt"}}, "config.model.family: wants one of"),
    ({"model": {"remat": "auto"}}, None),
    ({"model": {"experts": 4}}, "config.model.experts"),
    ({"model": {"expert_top": 3}}, "config.model.expert_top"),
    ({"preset": "t5-small", "model": {"experts": 4}}, None),
    ({"preset": "t5-small", "model": {"experts": 4, "layers": 6}}, "config.model.expert_every"),
    ({"preset": "t5-small", "model": {"experts": 4, "expert_top": 5}}, "config.model.expert_top"),
    ({"preset": "kc-moe", "model": {"attention": "splash"}}, "config.model.family"),
    ({"preset": "t5-small", "model": {"gated": False}}, None),
    ({"preset": "kc-moe", "model": {"gated": False}}, "config.model.gated"),
    ({"model": {"gated": False}}, "config.model.gated"),
    ({"preset": "lm1b", "model": {"tied": True}}, "config.model.family"),
    ({"objective": {"name": "masked"}}, "config.objective.name"),
    ({"preset": "tiny-masked", "objective": {"name": "classes"}}, None),
    ({"preset": "tiny-masked", "objective": {"name": "next_sentence"}, "data": {"native": True}}, "config.data.native"),
    ({"preset": "tiny-masked", "model": {"next_sentence": True}}, "config.model.next_sentence"),
    ({"optimizer": {"lr": 0}}, "config.optimizer.lr: wants more than 0"),
    ({"optimizer": {"lr": 1e-3, "clip": 1}}, None),
    ({"optimizer": {"learning_rate": 1e-3}}, "config.optimizer.learning_rate: there is no such key"),
    ({"optimizer": {"name": "adafactor", "b1": 0.9}}, "config.optimizer.b1: adafactor does not read it"),
    ({"optimizer": {"name": "amos", "weight_decay": 0.1}}, "config.optimizer.weight_decay: amos does not read it"),
    ({"optimizer": {"name": "sgd"}}, "config.optimizer.name: wants one of"),
    ({"optimizer": {"b1": 1.5}}, "config.optimizer.b1: wants at most 1"),
    ({"optimizer": {"momentum": 1.0, "name": "muon"}}, "config.optimizer.momentum: wants less than 1"),
    ({"schedule": {"name": "cosine", "warmup": 100}}, None),
    ({"batch": {"rows": 32, "micro": "auto"}}, None),
    ({"batch": {"rows": "32"}}, "config.batch.rows: wants a whole number"),
    ({"mesh": "auto"}, None),
    ({"mesh": {"data": 2}}, None),
    ({"mesh": "all"}, "config.mesh: wants a map"),
    ({"lora": {"alpha": 8}}, "config.lora.alpha: is read with a rank alone"),
    ({"lora": {"rank": 8}}, "config.lora.rank"),
    ({"lora": {"targets": "wq", "rank": 0}}, "config.lora.targets: wants a list of names"),
    ({"pruning": {"share": 0.5, "begin": 0, "end": 1}}, None),
    ({"pruning": {"share": 0.5, "begin": 0.6, "end": 0.5}}, "config.pruning"),
    ({"pruning": {"share": 1.0}}, "config.pruning.share: wants less than 1"),
    ({"export": {"gguf": "q4"}}, "config.export.gguf: wants one of"),
    ({"export": {"gguf": "f16", "prune": 0.5}}, None),
    ({"eval": {"each_epoch": 1}}, "config.eval.each_epoch: wants true or false"),
    ({"guard": {"window": 4}}, "config.guard.window: wants at least 8"),
]

# The same with a model to begin with, which decides about experts and is not known yet.
BEGINNING = [
    ({"pruning": {"share": 0.5}, "lora": {"rank": 4}}, "config.pruning.share"),
    ({"model": {"expert_top": 3}}, None),
    ({"preset": "tiny-spans", "model": {"experts": 4, "expert_capacity": 2.0}}, None),
    ({"preset": "tiny-spans", "model": {"expert_capacity": 0.0}}, "config.model.expert_capacity: wants more than 0"),
]


def said_by_trainer(config, inputs):
    """Returns what the trainer says about a job with this config."""
    whole = {"pipe_job": 1, "run_dir": "/run", "config": config, "tokenizer": {},
             "data": {"dir": "/data", "train": "train", "validation": "validation"}, **inputs}
    try:
        job.parse(whole)
    except job.BadJob as bad:
        return "\n".join(bad.mistakes)
    return ""


def said_by_pipe(pipe, config, inputs, root):
    """Returns what `pipe validate` says where no environment exists."""
    (root / "text.txt").write_text("a\n")
    file = {"pipe": 1, "name": "mine", "stages": {
        "source": {"type": "download", "url": "text.txt"},
        "lines": {"type": "decompress", "input": "source"},
        "docs": {"type": "split", "input": "lines", "splits": {"train": "rest", "validation": 0.1}},
        "tokenizer": {"type": "train_tokenizer", "input": "docs"},
        "tokens": {"type": "encode", "input": "docs", "tokenizer": "tokenizer"},
        "packed": {"type": "write_packed", "input": "tokens", "seq_len": 128, "out": "out/packed"},
        "train": {"type": "train", "plugin": "train", "inputs": {"data": "packed", "tokenizer": "tokenizer", **inputs},
                  "config": config, "steps": 2, "out": "out"}}}
    (root / "mine.yaml").write_text(json.dumps(file))
    run = subprocess.run([pipe, "validate", "mine.yaml"], cwd=root, capture_output=True, text=True)
    assert run.returncode == (2 if run.stderr else 0), (run.returncode, run.stderr)
    return run.stderr


def main(argument):
    text = TABLE.read_text(encoding="utf-8") if TABLE.exists() else BEGIN + END
    front, rest = text.split(BEGIN)
    behind = rest.split(END)[1]
    wanted = front + BEGIN + table() + END + behind
    if argument == "--write":
        TABLE.write_text(wanted, encoding="utf-8")
        return
    assert text == wanted, f"{TABLE}: is not the trainer's table; run {Path(__file__).name} --write"
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "model.safetensors").touch()
        begins = {"init_from": "model.safetensors"}
        for config, mistake, inputs in [(*one, {}) for one in CASES] + [(*one, begins) for one in BEGINNING]:
            trainer, pipe = said_by_trainer(config, inputs), said_by_pipe(argument, config, inputs, Path(place))
            for name, said in (("the trainer", trainer), ("pipe", pipe)):
                assert (mistake in said) if mistake else not said, f"{config}: {name} says {said!r}, not {mistake!r}"
    print(f"{len(CASES) + len(BEGINNING)} configurations have the same mistakes")


main(sys.argv[1])
