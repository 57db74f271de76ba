"""The T5 with experts of this directory as a module of torch, which needs no other package.

    import torch_model
    model = torch_model.load(".")
    logits = model(read, given)         # ids [B, T] of the encoder, [B, D] of the decoder; float32 [B, D, vocabulary]
    ids, = model.write([[1, 42, 7]])    # the likeliest ids behind each text, up to the end

`read_there` and `given_there` are False where a position is padding. An expert takes a share of the positions of a row,
padding included; a row of `n_positions` (config.json) has the room that rows had in training.
"""

import json
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

UNSEEN = -1e30  # is added to the score of a position


class T5WithExperts(nn.Module):
    def __init__(self, config, tensors):
        super().__init__()
        self.config = config
        for name, values in tensors.items():
            *way, last = name.split(".")
            place = self
            for part in way:
                if part not in place._modules:
                    place.add_module(part, nn.Module())
                place = place._modules[part]
            place.register_parameter(last, nn.Parameter(values))

    def forward(self, read, given, read_there=None, given_there=None):
        return self.decode(*self.encode(read, read_there), given, given_there)

    @torch.no_grad()
    def write(self, texts, most=64):
        """`texts`: lists of ids. Returns a list of ids for each."""
        slots, end = max(self.config["n_positions"], most + 1, *map(len, texts)), self.config["eos_token_id"]
        read, given = torch.zeros(2, len(texts), slots, dtype=torch.long, device=self.shared.weight.device)
        index = torch.arange(slots, device=read.device)
        for row, text in zip(read, texts):
            row[:len(text)] = torch.tensor(text)
        read, there = self.encode(read, index < torch.tensor([[len(text)] for text in texts], device=read.device))
        given[:, 0] = self.config["decoder_start_token_id"]
        for at in range(most):
            given[:, at + 1] = self.decode(read, there, given, (index <= at).expand(given.shape))[:, at].argmax(-1)
            if (given[:, 1:at + 2] == end).any(1).all():
                break
        made = [row[1:at + 2].tolist() for row in given]
        return [ids[:ids.index(end)] if end in ids else ids for ids in made]

    def encode(self, read, there=None):
        """Returns (hidden states, `there`)."""
        there = torch.ones_like(read, dtype=torch.bool) if there is None else there
        return self.stack("encoder", read, there), there

    def decode(self, read, read_there, given, there=None):
        there = torch.ones_like(given, dtype=torch.bool) if there is None else there
        x = self.stack("decoder", given, there, (read, unseen(~read_there)))
        if self.config["tie_word_embeddings"]:
            return x * self.config["d_model"] ** -0.5 @ self.shared.weight.T
        return self.product(x, "lm_head")

    def stack(self, name, ids, there, across=None):
        x, after = self.shared.weight[ids], torch.ones(2 * ids.shape[1:], dtype=torch.bool, device=ids.device).triu(1)
        table = self.get_parameter(f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
        bias = table[self.buckets(ids.shape[1], both=across is None).to(ids.device)].permute(2, 0, 1) + unseen(~there)
        if across:
            bias = bias + UNSEEN * after
        for number in range(self.config["num_layers"]):
            at = f"{name}.block.{number}"
            normed = self.norm(x, f"{at}.layer.0.layer_norm")
            x = x + self.attention(normed, normed, bias, f"{at}.layer.0.SelfAttention")
            if across:
                normed = self.norm(x, f"{at}.layer.1.layer_norm")
                x = x + self.attention(normed, *across, f"{at}.layer.1.EncDecAttention")
            if (number + 1) % self.config["expert_every"] == 0:
                x = x + self.experts(self.norm(x, f"{at}.experts.layer_norm"), there, f"{at}.experts")
            last = f"{at}.layer.{2 if across else 1}"
            x = x + self.mlp(self.norm(x, f"{last}.layer_norm"), f"{last}.DenseReluDense")
        return self.norm(x, f"{name}.final_layer_norm")

    def experts(self, x, there, at):
        count, top, length = self.config["experts"], self.config["expert_top"], x.shape[1]
        capacity = min(max(int(self.config["expert_eval_capacity"] * length / count + 0.5), 1), length)
        chances = self.product(x, f"{at}.router").softmax(-1)
        left, choices = chances.detach(), []
        for _ in range(top):  # of equal chances, argmax takes the first
            choices.append(functional.one_hot(left.argmax(-1), count))
            left = left.masked_fill(choices[-1] == 1, -1.0)
        queue = torch.cat([choice * there[..., None] for choice in choices], dim=1)  # first choices before second ones
        found = queue * (queue.cumsum(1) - queue < capacity)
        weights = chances * found.unflatten(1, (top, length)).sum(1)
        added = torch.zeros_like(x)
        for number in range(count):
            taken = weights[..., number] > 0
            added[taken] += weights[..., number][taken][:, None] * self.mlp(x[taken], f"{at}.expert.{number}")
        return added

    def attention(self, x, other, bias, at):
        q, k, v = (self.product(*one).unflatten(-1, (self.config["num_heads"], -1)).transpose(1, 2)
                   for one in ((x, f"{at}.q"), (other, f"{at}.k"), (other, f"{at}.v")))
        mixed = (q @ k.transpose(2, 3) + bias).softmax(-1) @ v
        return self.product(mixed.transpose(1, 2).flatten(2), f"{at}.o")

    def mlp(self, x, at):
        wide = functional.gelu(self.product(x, f"{at}.wi_0"), approximate="tanh") * self.product(x, f"{at}.wi_1")
        return self.product(wide, f"{at}.wo")

    def norm(self, x, at):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.config["layer_norm_epsilon"])
        return x * scale * self.get_parameter(f"{at}.weight")

    def product(self, x, at):
        return x @ self.get_parameter(f"{at}.weight").T

    def buckets(self, length, both):
        """The bucket of each distance [from, to]. `both`: half of the buckets are for positions behind."""
        distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        count = self.config["relative_attention_num_buckets"] // (2 if both else 1)
        first, distance = (distance > 0) * count if both else 0, distance.abs() if both else (-distance).clamp(min=0)
        single, farthest = count // 2, self.config["relative_attention_max_distance"]
        grown = (distance.clamp(min=single) / single).log() / math.log(farthest / single) * (count - single)
        return first + torch.where(distance < single, distance, (single + grown.long()).clamp(max=count - 1))


def unseen(mask):
    """mask [B, to] as an addition to scores [B, heads, from, to]."""
    return UNSEEN * mask[:, None, None, :]


def load(directory):
    directory = Path(directory)
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "pipe_t5_experts":
        raise ValueError(f"{directory}: a model of the type {config.get('model_type')}, and not pipe_t5_experts")
    tensors = {}
    with open(directory / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        header.pop("__metadata__", None)
        for name, told in sorted(header.items(), key=lambda entry: entry[1]["data_offsets"]):
            values = bytearray(file.read(told["data_offsets"][1] - told["data_offsets"][0]))
            tensors[name] = torch.frombuffer(values, dtype=torch.float32).reshape(told["shape"])
    return T5WithExperts(config, tensors).eval()
