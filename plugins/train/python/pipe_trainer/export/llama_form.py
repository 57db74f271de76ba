"""The family `llama` as LlamaForCausalLM of transformers: names and shapes of its tensors, its config, and the way
back."""

import numpy as np

from .. import config as configs
from .form import Unreadable, padded, special_ids, stacked, to_out_in

GENERATES = True
READABLE = {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "rope_scaling": None}

# Leaf of the blocks: the name of a layer's tensor, and the number of its input axes behind [layer]; None: a vector.
BLOCKS = {
    "attn_norm": ("input_layernorm", None),
    "wq": ("self_attn.q_proj", 1),
    "wk": ("self_attn.k_proj", 1),
    "wv": ("self_attn.v_proj", 1),
    "wo": ("self_attn.o_proj", 2),
    "mlp_norm": ("post_attention_layernorm", None),
    "w_gate": ("mlp.gate_proj", 1),
    "w_up": ("mlp.up_proj", 1),
    "w_down": ("mlp.down_proj", 1),
}


def block_shapes(config):
    d, h, ff = config.d, config.head_dim, config.ff
    return {"attn_norm": (d,), "wq": (d, config.heads, h), "wk": (d, config.kv_heads, h),
            "wv": (d, config.kv_heads, h), "wo": (config.heads, h, d), "mlp_norm": (d,), "w_gate": (d, ff),
            "w_up": (d, ff), "w_down": (ff, d)}


def tensors_of(params, config):
    """Yields (name, shape, function that gives the values) in the order of the file. A leaf is fetched when its first
    tensor is written."""
    held = {}

    def leaf(name, source):
        if name not in held:
            held.clear()
            held[name] = np.asarray(source, np.float32)
        return held[name]

    def vocabulary(name, source, across):
        def values():
            return (leaf(name, source).T if across else leaf(name, source))[:config.vocab]
        return (config.vocab, config.d), values

    yield "model.embed_tokens.weight", *vocabulary("embed", params["embed"], False)
    for name, (theirs, inputs) in BLOCKS.items():
        shape = block_shapes(config)[name]
        if inputs is not None:
            size = int(np.prod(shape[:inputs]))
            shape = (int(np.prod(shape)) // size, size)
        for layer in range(config.layers):
            yield (f"model.layers.{layer}.{theirs}.weight", shape,
                   lambda name=name, layer=layer, inputs=inputs: to_out_in(
                       leaf(name, params["blocks"][name])[layer], inputs))
    yield "model.norm.weight", (config.d,), lambda: leaf("final_norm", params["final_norm"])
    if not config.tied:
        yield "lm_head.weight", *vocabulary("head", params["head"], True)


def settings(config, tokenizer, dtype, start=None):
    """Returns config.json. `start`: for a decoder behind an encoder."""
    del start
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": config.vocab,
        "hidden_size": config.d, "intermediate_size": config.ff, "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads, "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim, "hidden_act": "silu", "max_position_embeddings": config.seq_len,
        "rms_norm_eps": config.norm_eps, "rope_theta": config.rope_theta, "attention_bias": False,
        "mlp_bias": False, "tie_word_embeddings": config.tied, "initializer_range": config.init_std,
        **special_ids(tokenizer),
        "torch_dtype": dtype, "use_cache": True,
    }


def shape_of(settings):
    """Returns the config.Model of a config.json. `seq_len`: the longest text."""
    heads, d = settings["num_attention_heads"], settings["hidden_size"]
    rope = settings.get("rope_parameters") or {"rope_theta": settings.get("rope_theta", 10000.0)}
    if rope.get("rope_type", "default") != "default":
        raise Unreadable(f"rotary positions of the type {rope['rope_type']}, and this trainer knows default")
    return configs.Model(
        layers=settings["num_hidden_layers"], d=d, heads=heads, kv_heads=settings.get("num_key_value_heads", heads),
        head_dim=settings.get("head_dim") or d // heads, ff=settings["intermediate_size"],
        vocab=settings["vocab_size"], seq_len=settings["max_position_embeddings"],
        tied=settings.get("tie_word_embeddings", False), rope_theta=float(rope["rope_theta"]),
        norm_eps=settings["rms_norm_eps"]).complete()


def parameters_of(tensors, config):
    """`tensors`: those of the file, by name."""
    shapes, blocks = block_shapes(config), {}
    for name, (theirs, inputs) in BLOCKS.items():
        come, go = (shapes[name][:inputs], shapes[name][inputs:]) if inputs else ((), shapes[name])
        names = [f"model.layers.{layer}.{theirs}.weight" for layer in range(config.layers)]
        blocks[name] = stacked(tensors, names, come, go)
    params = {"embed": padded(tensors["model.embed_tokens.weight"], config.padded_vocab), "blocks": blocks,
              "final_norm": tensors["model.norm.weight"]}
    if not config.tied:
        params["head"] = np.ascontiguousarray(padded(tensors["lm_head.weight"], config.padded_vocab).T)
    return params
