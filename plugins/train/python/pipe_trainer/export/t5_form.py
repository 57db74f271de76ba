"""The family `t5` as T5ForConditionalGeneration of transformers: names and shapes of its tensors, and its config."""

import numpy as np

from .. import config as configs
from ..model import t5
from .form import Unreadable, padded, special_ids, stacked, to_out_in

GENERATES = False
READABLE = {"relative_attention_num_buckets": t5.BUCKETS,
            "relative_attention_max_distance": t5.FARTHEST}

ATTENTION = {"wq": ("q", 1), "wk": ("k", 1), "wv": ("v", 1), "wo": ("o", 2)}
MLP = {"w_gate": "wi_0", "w_up": "wi_1", "w_down": "wo"}


def tensors_of(params, config):
    """Yields (name, shape, function that gives the values) in the order of the file."""
    def tensor(name, values):
        return name, values.shape, lambda: np.asarray(values, np.float32)

    yield tensor("shared.weight", params["embed"][:config.vocab])
    for stack in ("encoder", "decoder"):
        leaves = params[stack]
        for layer in range(config.layers):
            at = f"{stack}.block.{layer}.layer."
            yield from attention(tensor, at + "0.SelfAttention.", leaves, layer)
            if layer == 0:
                yield tensor(at + "0.SelfAttention.relative_attention_bias.weight",
                             params["distances"][stack + "_bias"])
            yield tensor(at + "0.layer_norm.weight", leaves["attn_norm"][layer])
            if stack == "decoder":
                yield from attention(tensor, at + "1.EncDecAttention.", leaves["cross"], layer)
                yield tensor(at + "1.layer_norm.weight", leaves["cross"]["attn_norm"][layer])
            at += "2." if stack == "decoder" else "1."
            for name, theirs in MLP.items():
                yield tensor(f"{at}DenseReluDense.{theirs}.weight", to_out_in(np.asarray(leaves[name][layer]), 1))
            yield tensor(at + "layer_norm.weight", leaves["mlp_norm"][layer])
        yield tensor(stack + ".final_layer_norm.weight",
                     params["final_norm" if stack == "decoder" else "final_encoder_norm"])
    if not config.tied:
        yield tensor("lm_head.weight", to_out_in(np.asarray(params["head"][:, :config.vocab]), 1))


def attention(tensor, at, leaves, layer):
    for name, (theirs, inputs) in ATTENTION.items():
        yield tensor(f"{at}{theirs}.weight", to_out_in(np.asarray(leaves[name][layer]), inputs))


def settings(config, tokenizer, dtype, start):
    """Returns config.json. `start`: the first input of the decoder."""
    ids = special_ids(tokenizer)
    return {
        "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "is_encoder_decoder": True,
        "vocab_size": config.vocab, "d_model": config.d, "d_kv": config.head_dim, "d_ff": config.ff,
        "num_layers": config.layers, "num_decoder_layers": config.layers, "num_heads": config.heads,
        "relative_attention_num_buckets": t5.BUCKETS, "relative_attention_max_distance": t5.FARTHEST,
        "feed_forward_proj": "gated-gelu", "dropout_rate": 0.0, "layer_norm_epsilon": config.norm_eps,
        "initializer_factor": 1.0, "tie_word_embeddings": config.tied, "n_positions": config.seq_len,
        **ids, "pad_token_id": start if ids["pad_token_id"] is None else ids["pad_token_id"],
        "decoder_start_token_id": start, "torch_dtype": dtype, "use_cache": True,
    }


def shape_of(settings):
    """Returns the config.Model of a config.json. `seq_len`: the longest text that an export of ours learned; T5 itself
    knows no longest one."""
    layers = settings["num_layers"]
    if settings.get("num_decoder_layers", layers) != layers:
        raise Unreadable(f"{settings['num_decoder_layers']} layers in the decoder, and {layers} in the encoder; this "
                         f"trainer has as many in both")
    if settings.get("feed_forward_proj") != "gated-gelu":
        raise Unreadable(f"feed_forward_proj is {settings.get('feed_forward_proj', 'relu')}, and this trainer knows "
                         f"gated-gelu, as T5 1.1 has it")
    return configs.Model(
        family="t5", layers=layers, d=settings["d_model"], heads=settings["num_heads"], head_dim=settings["d_kv"],
        ff=settings["d_ff"], vocab=settings["vocab_size"], seq_len=settings.get("n_positions"),
        norm_eps=settings["layer_norm_epsilon"], tied=settings.get("tie_word_embeddings", True)).complete()


def parameters_of(tensors, config):
    """`tensors`: those of the file, by name."""
    d, heads, h, ff, rows = config.d, config.heads, config.head_dim, config.ff, config.padded_vocab
    shapes = {"wq": ((d,), (heads, h)), "wk": ((d,), (heads, h)), "wv": ((d,), (heads, h)), "wo": ((heads, h), (d,)),
              "w_gate": ((d,), (ff,)), "w_up": ((d,), (ff,)), "w_down": ((ff,), (d,))}

    def of_layers(stack, part, theirs, name=None):
        names = [f"{stack}.block.{layer}.layer.{part}.{theirs}.weight" for layer in range(config.layers)]
        return stacked(tensors, names, *shapes.get(name, ((), (d,))))

    def attended(stack, part, kind):
        return {"attn_norm": of_layers(stack, part, "layer_norm"),
                **{name: of_layers(stack, part, f"{kind}.{theirs}", name) for name, (theirs, _) in ATTENTION.items()}}

    def layers_of(stack, last):
        return {**attended(stack, 0, "SelfAttention"), "mlp_norm": of_layers(stack, last, "layer_norm"),
                **{name: of_layers(stack, last, f"DenseReluDense.{theirs}", name) for name, theirs in MLP.items()}}

    params = {
        "embed": padded(tensors["shared.weight"], rows),
        "encoder": layers_of("encoder", 1),
        "decoder": {**layers_of("decoder", 2), "cross": attended("decoder", 1, "EncDecAttention")},
        "distances": {f"{stack}_bias": tensors[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
                      for stack in ("encoder", "decoder")},
        "final_encoder_norm": tensors["encoder.final_layer_norm.weight"],
        "final_norm": tensors["decoder.final_layer_norm.weight"],
    }
    if not config.tied:
        params["head"] = np.ascontiguousarray(padded(tensors["lm_head.weight"], rows).T)
    return params
