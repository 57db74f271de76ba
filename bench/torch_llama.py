#!/usr/bin/env python3
"""Tokens a second of a training step of a Llama as people write it in PyTorch, as JSON: what ours is held against on a GPU.

    torch_llama.py '{"layers": 12, "d": 768, "heads": 6, "head_dim": 128, "ff": 2048, "vocab": 32000, "seq_len": 1024, "rows": 32}'
                   [--device cuda] [--compute bfloat16] [--turns N] [--steps N] [--plain]

The model has the shape of our family `llama`: RMSNorm, rotary positions, SwiGLU, tied head. Parameters and AdamW are float32,
products are of --compute (autocast), attention is scaled_dot_product_attention, gradients are clipped. The step is compiled
by torch.compile, with --plain it is not. Each step has the same made rows; the best of --turns counts.
"""

import argparse
import json
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch_step import least_step


def rotated(x, angles):
    even, odd = x.float().chunk(2, dim=-1)
    sin, cos = angles
    return torch.cat([even * cos - odd * sin, odd * cos + even * sin], dim=-1).to(x.dtype)


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale).to(x.dtype)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        d, self.heads, self.width = shape["d"], shape["heads"], shape["head_dim"]
        self.norms = nn.ModuleList(Norm(d) for _ in range(2))
        self.qkv = nn.Linear(d, 3 * self.heads * self.width, bias=False)
        self.out = nn.Linear(self.heads * self.width, d, bias=False)
        self.gate_up = nn.Linear(d, 2 * shape["ff"], bias=False)
        self.down = nn.Linear(shape["ff"], d, bias=False)

    def forward(self, x, angles):
        rows, length, _ = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(rows, length, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(rotated(q, angles), rotated(k, angles), v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, -1))
        gate, up = self.gate_up(self.norms[1](x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape["vocab"], shape["d"])
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape["layers"]))
        self.norm = Norm(shape["d"])
        rate = 10000.0 ** (-torch.arange(0, shape["head_dim"], 2) / shape["head_dim"])
        turns = torch.outer(torch.arange(shape["seq_len"]).float(), rate)
        self.register_buffer("angles", torch.stack([turns.sin(), turns.cos()]))

    def forward(self, ids):
        x = self.tokens(ids[:, :-1])
        for block in self.blocks:
            x = block(x, self.angles)
        logits = F.linear(self.norm(x), self.tokens.weight.to(x.dtype))
        return F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", type=json.loads)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compute", default="bfloat16")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    shape, compute = options.shape, getattr(torch, options.compute)
    model = Llama(shape).to(options.device)
    fused = {"fused": True} if options.device == "cuda" else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, **fused)
    ids = torch.randint(5, shape["vocab"], (shape["rows"], shape["seq_len"] + 1), device=options.device)
    loss_of = model if options.plain else torch.compile(model)
    first, least = least_step(options.turns, options.steps, model, lambda: loss_of(ids), optimizer,
                              lambda: torch.autocast(options.device, compute, enabled=compute is not torch.float32))
    print(json.dumps({"torch": torch.__version__, "compiled": not options.plain, "compile_s": round(2 * first, 2),
                      "params": sum(part.numel() for part in model.parameters()), "step_ms": round(1e3 * least, 2),
                      "tokens_per_s": round(shape["rows"] * shape["seq_len"] / least)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
