#!/usr/bin/env python3
"""Tokens a second of a training step as people write it in PyTorch, as JSON: what ours is held against.

    torch_step.py '{"layers": 4, "d": 128, "heads": 4, "vocab": 2000, "seq_len": 128, "rows": 8}' [--turns N] [--steps N]

The model has the shape of nanoGPT's and is written for this comparison: learned positions, LayerNorm, a GELU of four
times the width, tied head, float32, AdamW, clipped gradients. Its products have as many parameters as ours with SwiGLU.
Each step has the same made rows. Needs Debian's python3-torch; the best of --turns counts.
"""

import argparse
import contextlib
import json
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, d, heads, seq_len):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2))
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)
        self.up = nn.Linear(d, 4 * d, bias=False)
        self.down = nn.Linear(4 * d, d, bias=False)
        self.register_buffer("ahead", torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool), 1))

    def forward(self, x):
        rows, length, d = x.shape
        q, k, v = (part.view(rows, length, self.heads, d // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norms[0](x)).split(d, 2))
        scores = (q @ k.transpose(2, 3)) * (d // self.heads) ** -0.5
        mixed = scores.masked_fill(self.ahead, float("-inf")).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, d))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape["vocab"], shape["d"])
        self.positions = nn.Embedding(shape["seq_len"], shape["d"])
        self.blocks = nn.ModuleList(Block(shape["d"], shape["heads"], shape["seq_len"]) for _ in range(shape["layers"]))
        self.norm = nn.LayerNorm(shape["d"])

    def forward(self, ids):
        x = self.tokens(ids[:, :-1]) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def least_step(turns, steps, model, loss_of, optimizer, context=contextlib.nullcontext):
    """Returns (seconds of each of the two first steps, of a step in the fastest turn). `loss_of`: gives the loss of the
    rows, in `context`."""
    def turn(steps):
        begin = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            with context():
                loss = loss_of()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        loss.item()
        return (time.perf_counter() - begin) / steps
    return turn(2), min(turn(steps) for _ in range(turns))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", type=json.loads)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(0)
    shape = options.shape
    model = Model(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    ids = torch.randint(5, shape["vocab"], (shape["rows"], shape["seq_len"] + 1))

    _, least = least_step(options.turns, options.steps, model, lambda: model(ids), optimizer)
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(),
                      "params": sum(part.numel() for part in model.parameters()), "step_ms": round(1e3 * least, 2),
                      "tokens_per_s": round(shape["rows"] * shape["seq_len"] / least)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
