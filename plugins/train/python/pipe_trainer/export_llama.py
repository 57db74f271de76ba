"""The family `llama` as LlamaForCausalLM of transformers: names and shapes of its tensors, its config, and the way
back."""

import numpy as np

from . import config as configs
from .export_form import special_ids, to_out_in

GENERATES = True

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


def settings(config, tokenizer, dtype):
    """Returns config.json."""
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


def read(settings, tensors, eos):
    """Returns (params, config). `settings`: config.json; `tensors`: those of the file, by name."""
    config = configs.Model(
        layers=settings["num_hidden_layers"], d=settings["hidden_size"], heads=settings["num_attention_heads"],
        kv_heads=settings["num_key_value_heads"], head_dim=settings["head_dim"], ff=settings["intermediate_size"],
        vocab=settings["vocab_size"], seq_len=settings["max_position_embeddings"],
        tied=settings["tie_word_embeddings"], rope_theta=settings["rope_theta"], norm_eps=settings["rms_norm_eps"],
        eos=eos).complete()

    def padded(name):
        return np.pad(tensors[name], ((0, config.padded_vocab - config.vocab), (0, 0)))

    shapes = block_shapes(config)
    blocks = {}
    for name, (theirs, inputs) in BLOCKS.items():
        layers = [tensors[f"model.layers.{layer}.{theirs}.weight"] for layer in range(config.layers)]
        blocks[name] = np.stack([layer if inputs is None else layer.T.reshape(shapes[name])
                                 for layer in layers])
    params = {"embed": padded("model.embed_tokens.weight"), "blocks": blocks,
              "final_norm": tensors["model.norm.weight"]}
    if not config.tied:
        params["head"] = np.ascontiguousarray(padded("lm_head.weight").T)
    return params, config
