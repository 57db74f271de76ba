"""The family `bert` as BertForMaskedLM of transformers: names and shapes of its tensors, and its config."""

import numpy as np

from .export_form import special_ids, to_out_in

GENERATES = False

# Leaf of the blocks: the name of a layer's tensor, and the number of its input axes behind [layer]; None: a vector.
BLOCKS = {
    "wq": ("attention.self.query.weight", 1), "q_bias": ("attention.self.query.bias", None),
    "wk": ("attention.self.key.weight", 1), "k_bias": ("attention.self.key.bias", None),
    "wv": ("attention.self.value.weight", 1), "v_bias": ("attention.self.value.bias", None),
    "wo": ("attention.output.dense.weight", 2), "o_bias": ("attention.output.dense.bias", None),
    "attn_norm": ("attention.output.LayerNorm.weight", None),
    "attn_norm_bias": ("attention.output.LayerNorm.bias", None),
    "w_up": ("intermediate.dense.weight", 1), "up_bias": ("intermediate.dense.bias", None),
    "w_down": ("output.dense.weight", 1), "down_bias": ("output.dense.bias", None),
    "mlp_norm": ("output.LayerNorm.weight", None), "mlp_norm_bias": ("output.LayerNorm.bias", None),
}
TYPES = 2  # of text in transformers; this model has one, which is a part of the positions


def tensors_of(params, config):
    """Yields (name, shape, function that gives the values) in the order of the file."""
    def tensor(name, values):
        return name, values.shape, lambda: np.asarray(values, np.float32)

    at, head = "bert.embeddings.", params["readout"]
    yield tensor(at + "word_embeddings.weight", params["embed"][:config.vocab])
    yield tensor(at + "position_embeddings.weight", params["position_embed"])
    yield tensor(at + "token_type_embeddings.weight", np.zeros((TYPES, config.d), np.float32))
    yield tensor(at + "LayerNorm.weight", params["embed_norm"])
    yield tensor(at + "LayerNorm.bias", params["embed_norm_bias"])
    for layer in range(config.layers):
        for name, (theirs, inputs) in BLOCKS.items():
            values = np.asarray(params["blocks"][name][layer], np.float32)
            yield tensor(f"bert.encoder.layer.{layer}.{theirs}", to_out_in(values, inputs))
    at = "cls.predictions."
    yield tensor(at + "transform.dense.weight", to_out_in(np.asarray(head["dense"]), 1))
    yield tensor(at + "transform.dense.bias", head["dense_bias"])
    yield tensor(at + "transform.LayerNorm.weight", head["norm"])
    yield tensor(at + "transform.LayerNorm.bias", head["norm_bias"])
    yield tensor(at + "bias", head["ids_bias"][:config.vocab])


def settings(config, tokenizer, dtype):
    """Returns config.json."""
    return {
        "architectures": ["BertForMaskedLM"], "model_type": "bert", "vocab_size": config.vocab,
        "hidden_size": config.d, "intermediate_size": config.ff, "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads, "hidden_act": "gelu_pytorch_tanh",
        "max_position_embeddings": config.seq_len, "type_vocab_size": TYPES, "layer_norm_eps": config.norm_eps,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": config.init_std,
        "position_embedding_type": "absolute", "tie_word_embeddings": True,
        **special_ids(tokenizer), "torch_dtype": dtype,
    }
