"""The family `bert` as BertForMaskedLM of transformers, or with a head over labels as BertForSequenceClassification:
names and shapes of its tensors, and its config."""

import numpy as np

from .. import config as configs
from .form import Unreadable, padded, special_ids, stacked, to_out_in

GENERATES = False
READABLE = {"position_embedding_type": "absolute", "is_decoder": False, "tie_word_embeddings": True}
GELU = {"gelu_pytorch_tanh": False, "gelu_new": False, "gelu": True}  # whether it is the exact one

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
CLASSIFIER = "BertForSequenceClassification"
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
    if config.classes:
        yield tensor("bert.pooler.dense.weight", to_out_in(np.asarray(head["dense"]), 1))
        yield tensor("bert.pooler.dense.bias", head["dense_bias"])
        yield tensor("classifier.weight", to_out_in(np.asarray(head["labels"][:, :config.classes]), 1))
        yield tensor("classifier.bias", head["labels_bias"][:config.classes])
        return
    at = "cls.predictions."
    yield tensor(at + "transform.dense.weight", to_out_in(np.asarray(head["dense"]), 1))
    yield tensor(at + "transform.dense.bias", head["dense_bias"])
    yield tensor(at + "transform.LayerNorm.weight", head["norm"])
    yield tensor(at + "transform.LayerNorm.bias", head["norm_bias"])
    yield tensor(at + "bias", head["ids_bias"][:config.vocab])


def settings(config, tokenizer, dtype, start=None):
    """Returns config.json. `start`: for a decoder behind an encoder."""
    del start
    return {
        "architectures": ["BertForMaskedLM"], "model_type": "bert", "vocab_size": config.vocab,
        "hidden_size": config.d, "intermediate_size": config.ff, "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "hidden_act": "gelu" if config.exact_gelu else "gelu_pytorch_tanh",
        "max_position_embeddings": config.seq_len, "type_vocab_size": TYPES, "layer_norm_eps": config.norm_eps,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": config.init_std,
        "position_embedding_type": "absolute", "tie_word_embeddings": True,
        **special_ids(tokenizer), "torch_dtype": dtype,
    }


def shape_of(settings):
    """Returns the config.Model of a config.json. `seq_len`: the longest text."""
    if settings.get("hidden_act", "gelu") not in GELU:
        raise Unreadable(f"hidden_act is {settings['hidden_act']}, and this trainer knows {', '.join(GELU)}")
    return configs.Model(
        family="bert", layers=settings["num_hidden_layers"], d=settings["hidden_size"],
        heads=settings["num_attention_heads"], ff=settings["intermediate_size"], vocab=settings["vocab_size"],
        seq_len=settings["max_position_embeddings"], norm_eps=settings["layer_norm_eps"],
        exact_gelu=GELU[settings.get("hidden_act", "gelu")],
        classes=len(settings["id2label"]) if CLASSIFIER in settings.get("architectures", ()) else None).complete()


def parameters_of(tensors, config):
    """`tensors`: those of the file, by name. The type of text 0 becomes a part of the positions."""
    d, heads, h, ff = config.d, config.heads, config.head_dim, config.ff
    shapes = {"wq": ((d,), (heads, h)), "wk": ((d,), (heads, h)), "wv": ((d,), (heads, h)), "wo": ((heads, h), (d,)),
              "w_up": ((d,), (ff,)), "w_down": ((ff,), (d,)), "q_bias": ((), (heads * h,)),
              "k_bias": ((), (heads * h,)), "v_bias": ((), (heads * h,)), "up_bias": ((), (ff,))}
    at = "bert.embeddings."
    return {
        "embed": padded(tensors[at + "word_embeddings.weight"], config.padded_vocab),
        "position_embed": tensors[at + "position_embeddings.weight"] + tensors[at + "token_type_embeddings.weight"][0],
        "embed_norm": tensors[at + "LayerNorm.weight"], "embed_norm_bias": tensors[at + "LayerNorm.bias"],
        "blocks": {name: stacked(tensors, [f"bert.encoder.layer.{layer}.{theirs}" for layer in range(config.layers)],
                                 *shapes.get(name, ((), (d,)))) for name, (theirs, _) in BLOCKS.items()},
        "readout": readout_of(tensors, config),
    }


def readout_of(tensors, config):
    if config.classes:
        return {"dense": np.ascontiguousarray(tensors["bert.pooler.dense.weight"].T),
                "dense_bias": tensors["bert.pooler.dense.bias"],
                "labels": np.ascontiguousarray(padded(tensors["classifier.weight"], config.scored).T),
                "labels_bias": padded(tensors["classifier.bias"], config.scored)}
    head = "cls.predictions."
    return {"dense": np.ascontiguousarray(tensors[head + "transform.dense.weight"].T),
            "dense_bias": tensors[head + "transform.dense.bias"],
            "norm": tensors[head + "transform.LayerNorm.weight"],
            "norm_bias": tensors[head + "transform.LayerNorm.bias"],
            "ids_bias": padded(tensors[head + "bias"], config.padded_vocab)}
