"""Logits of Llama from a description of the model, with numpy alone: float64, one head at a time."""

import numpy as np


def logits(settings, weights, ids, interleaved=False):
    """Logits [ids, vocabulary] of one document. `settings`: config.json; `weights`: by the names of transformers.
    `interleaved`: pairs of rotary positions lie beside each other, as in llama.cpp, not half a head apart."""
    weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    heads, groups = settings["num_attention_heads"], settings["num_key_value_heads"]
    width, length = settings["head_dim"], len(ids)

    def norm(x, name):
        size = np.sqrt((x * x).mean(-1, keepdims=True) + settings["rms_norm_eps"])
        return x / size * weights[name + ".weight"]

    inverse = 1 / settings["rope_theta"] ** (np.arange(0, width, 2) / width)
    angles = np.outer(np.arange(length), inverse)

    def rotated(x):
        first, second = (x[:, ::2], x[:, 1::2]) if interleaved else (x[:, :width // 2], x[:, width // 2:])
        turned = (first * np.cos(angles) - second * np.sin(angles), second * np.cos(angles) + first * np.sin(angles))
        return np.stack(turned, -1).reshape(length, width) if interleaved else np.concatenate(turned, -1)

    hidden = weights["model.embed_tokens.weight"][ids]
    for layer in range(settings["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        x = norm(hidden, at + "input_layernorm")
        q, k, v = (x @ weights[f"{at}self_attn.{name}_proj.weight"].T for name in "qkv")
        mixed = []
        for head in range(heads):
            own, shared = slice(head * width, (head + 1) * width), head // (heads // groups)
            shared = slice(shared * width, (shared + 1) * width)
            scores = rotated(q[:, own]) @ rotated(k[:, shared]).T / np.sqrt(width)
            scores[np.triu_indices(length, 1)] = -np.inf
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            mixed.append(shares / shares.sum(-1, keepdims=True) @ v[:, shared])
        hidden = hidden + np.concatenate(mixed, -1) @ weights[at + "self_attn.o_proj.weight"].T
        x = norm(hidden, at + "post_attention_layernorm")
        gate = x @ weights[at + "mlp.gate_proj.weight"].T
        gate = gate / (1 + np.exp(-gate)) * (x @ weights[at + "mlp.up_proj.weight"].T)
        hidden = hidden + gate @ weights[at + "mlp.down_proj.weight"].T
    head = "model.embed_tokens.weight" if settings["tie_word_embeddings"] else "lm_head.weight"
    return norm(hidden, "model.norm") @ weights[head].T


def nats(settings, weights, row, eos):
    """Sum of minus the logarithms of the chances of row[1:], where each document of the row, from an eos on, stands
    alone."""
    starts = [0, *(at for at in range(1, len(row) - 1) if row[at] == eos), len(row) - 1]
    total = 0.0
    for begin, end in zip(starts, starts[1:]):
        found = logits(settings, weights, np.asarray(row[begin:end]))
        found -= found.max(-1, keepdims=True)
        chances = found - np.log(np.exp(found).sum(-1, keepdims=True))
        total -= chances[np.arange(end - begin), row[begin + 1:end + 1]].sum()
    return total
