#!/usr/bin/env python3
"""A language model in PyTorch: an example of a program for `trainer: external` (external.md).

    torch_lm.py --data DIR --out DIR --steps N [--seed N] [--save-every N]

DIR of the data has packed rows of `encoding: raw16` (stages/export/packed/packed.md). Writes below the other DIR:

    checkpoints/step-N/state.pt   every `--save-every` steps; the two newest are kept
    model.pt, metrics.json        at the end

A run that was killed goes on from its newest checkpoint, and ends with the bytes of a run that was not.
Needs python3-torch and python3-numpy of Debian, or torch and numpy of PyPI.
"""

import argparse
import json
import os
import shutil
from pathlib import Path

import numpy
import torch
from torch import nn

BATCH = 16


INDEX = numpy.dtype([("offset", "<u8"), ("length", "<u4"), ("bytes", "<u4"), ("chars", "<u4")])
NO_TARGET = -100  # cross_entropy leaves it out


class Rows:
    """The rows of a split, as an array of (rows, seq_len + 1) ids with NO_TARGET in the places of padding."""

    def __init__(self, directory, split):
        packed = json.loads((directory / "packed.json").read_text())
        if packed.get("encoding") != "raw16":
            raise SystemExit(f"{directory}: write its rows with `encoding: raw16`")
        if split not in packed["splits"]:
            raise SystemExit(f"{directory}: it has no split {split}")
        places, self.ids = range(packed["seq_len"] + 1), []
        for shard in packed["splits"][split]["shards"]:
            ids = numpy.fromfile(directory / shard["object"], "<u2").reshape(-1, len(places)).astype(numpy.int64)
            lengths = numpy.fromfile(directory / shard["index"], INDEX)["length"]
            self.ids.append(numpy.where(numpy.array(places) < lengths[:, None], ids, NO_TARGET))
        self.ids = numpy.concatenate(self.ids)
        self.vocabulary = packed["tokenizer"]["vocab_size"]

    def batch(self, step, seed):
        """The rows of a step, counted from 0: each epoch has an order of its own, which the seed decides."""
        at = range(step * BATCH, (step + 1) * BATCH)
        orders = {epoch: numpy.random.Generator(numpy.random.Philox(key=seed, counter=epoch)).permutation(len(self.ids))
                  for epoch in {place // len(self.ids) for place in at}}
        return torch.from_numpy(self.ids[[orders[place // len(self.ids)][place % len(self.ids)] for place in at]])

    def all(self):
        for first in range(0, len(self.ids), BATCH):
            yield torch.from_numpy(self.ids[first:first + BATCH])


class Model(nn.Module):
    def __init__(self, vocabulary, width=128):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.memory = nn.GRU(width, width, batch_first=True)
        self.output = nn.Linear(width, vocabulary)

    def loss(self, rows, reduction="mean"):
        """The cross entropy in nats of the ids of each row after the first."""
        states, _ = self.memory(self.embedding(rows[:, :-1].clamp(min=0)))
        return nn.functional.cross_entropy(self.output(states).flatten(0, 1), rows[:, 1:].flatten(),
                                           ignore_index=NO_TARGET, reduction=reduction)


def saved(path, value):
    """Writes the file as a whole, and only then gives it its name."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        torch.save(value, file)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)


def checkpoints(out):
    return sorted(int(path.name[len("step-"):]) for path in out.glob("checkpoints/step-*") if (path / "state.pt").exists())


def evaluate(model, rows):
    with torch.no_grad():
        loss = sum(model.loss(batch, "sum").item() for batch in rows.all())
    return loss / int((rows.ids[:, 1:] != NO_TARGET).sum())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save-every", type=int, default=100)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.use_deterministic_algorithms(True)
    rows, held_out = Rows(options.data, "train"), Rows(options.data, "validation")
    model = Model(rows.vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    step = 0
    if checkpoints(options.out):
        step = checkpoints(options.out)[-1]
        state = torch.load(options.out / f"checkpoints/step-{step}/state.pt")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        print(f"continues from step {step}")
    while step < options.steps:
        loss = model.loss(rows.batch(step, options.seed))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        step += 1
        print(f"step {step} loss {loss.item():.4f}")
        if step % options.save_every == 0 or step == options.steps:
            place = options.out / f"checkpoints/step-{step}"
            place.mkdir(parents=True, exist_ok=True)
            saved(place / "state.pt", {"model": model.state_dict(), "optimizer": optimizer.state_dict()})
            for old in checkpoints(options.out)[:-2]:
                shutil.rmtree(options.out / f"checkpoints/step-{old}")
    saved(options.out / "model.pt", model.state_dict())
    (options.out / "metrics.json").write_text(json.dumps({"steps": step, "validation_loss": evaluate(model, held_out)}))


if __name__ == "__main__":
    main()
