"""The family `bert` as BertForMaskedLM of transformers, with a head over labels as BertForSequenceClassification, with
`next_sentence` as BertForPreTraining: names of its tensors, and its config."""

import numpy as np

from .. import config as configs
from .form import Form, Unreadable, special_ids

GELU = {"gelu_pytorch_tanh": False, "gelu_new": False, "gelu": True}  # whether it is the exact one
EMBEDDINGS = {"embed": "word_embeddings.weight", "position_embed": "position_embeddings.weight",
              "types": "token_type_embeddings.weight", "embed_norm": "LayerNorm.weight",
              "embed_norm_bias": "LayerNorm.bias"}
BLOCKS = {
    "wq": "attention.self.query.weight", "q_bias": "attention.self.query.bias",
    "wk": "attention.self.key.weight", "k_bias": "attention.self.key.bias",
    "wv": "attention.self.value.weight", "v_bias": "attention.self.value.bias",
    "wo": "attention.output.dense.weight", "o_bias": "attention.output.dense.bias",
    "attn_norm": "attention.output.LayerNorm.weight",
    "attn_norm_bias": "attention.output.LayerNorm.bias",
    "w_up": "intermediate.dense.weight", "up_bias": "intermediate.dense.bias",
    "w_down": "output.dense.weight", "down_bias": "output.dense.bias",
    "mlp_norm": "output.LayerNorm.weight", "mlp_norm_bias": "output.LayerNorm.bias",
}
OF_IDS = {"dense": "transform.dense.weight", "dense_bias": "transform.dense.bias", "norm": "transform.LayerNorm.weight",
          "norm_bias": "transform.LayerNorm.bias", "ids_bias": "bias"}
OF_LABELS = {"dense": "bert.pooler.dense.weight", "dense_bias": "bert.pooler.dense.bias", "labels": "classifier.weight",
             "labels_bias": "classifier.bias"}
POOLER = {"dense": "bert.pooler.dense.weight", "dense_bias": "bert.pooler.dense.bias",
          "next": "cls.seq_relationship.weight", "next_bias": "cls.seq_relationship.bias"}
CLASSIFIER, MASKED, PRE_TRAINING = "BertForSequenceClassification", "BertForMaskedLM", "BertForPreTraining"
TYPES = 2  # of text in transformers; a model without `next_sentence` has one, which is a part of the positions


class Bert(Form):
    FAMILY = "bert"
    READABLE = {"position_embedding_type": "absolute", "is_decoder": False, "tie_word_embeddings": True}

    def names(self, config):
        for name, theirs in EMBEDDINGS.items():
            yield (name,), None, f"bert.embeddings.{theirs}"
        for layer in range(config.layers):
            for name, theirs in BLOCKS.items():
                yield ("blocks", name), layer, f"bert.encoder.layer.{layer}.{theirs}"
        for name, theirs in (OF_LABELS if config.classes else OF_IDS).items():
            yield ("readout", name), None, theirs if config.classes else f"cls.predictions.{theirs}"
        for name, theirs in POOLER.items() if config.next_sentence else ():
            yield ("pooler", name), None, theirs

    def has_next_sentence(self, names):
        return {*POOLER.values()} <= {*map(todays, names)}

    def theirs(self, params, config):
        return params if config.next_sentence else {**params, "types": np.zeros((TYPES, config.d), np.float32)}

    def ours(self, params):
        return params if "pooler" in params else self.of_one_segment(params)

    @staticmethod
    def of_one_segment(params):
        """Returns the parameters of a model whose texts have one segment."""
        types = params.pop("types")
        return {**params, "position_embed": params["position_embed"] + types[0]}

    def parameters_of(self, tensors, config):
        return super().parameters_of({todays(name): values for name, values in tensors.items()}, config)

    def settings(self, config, tokenizer, start=None):
        """Returns config.json. `start`: for a decoder behind an encoder."""
        return {
            "architectures": [PRE_TRAINING if config.next_sentence else MASKED], "model_type": "bert",
            "vocab_size": config.vocab, "hidden_size": config.d, "intermediate_size": config.ff,
            "num_hidden_layers": config.layers, "num_attention_heads": config.heads,
            "hidden_act": "gelu" if config.exact_gelu else "gelu_pytorch_tanh",
            "max_position_embeddings": config.seq_len, "type_vocab_size": TYPES, "layer_norm_eps": config.norm_eps,
            "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": config.init_std,
            "position_embedding_type": "absolute", "tie_word_embeddings": True,
            **special_ids(tokenizer), "torch_dtype": "float32",
        }

    def shape_of(self, settings):
        """Returns the config.Model of a config.json. `seq_len`: the longest text."""
        if settings.get("hidden_act", "gelu") not in GELU:
            raise Unreadable(f"hidden_act is {settings['hidden_act']}, and this trainer knows {', '.join(GELU)}")
        return configs.Model(
            family="bert", layers=settings["num_hidden_layers"], d=settings["hidden_size"],
            heads=settings["num_attention_heads"], ff=settings["intermediate_size"], vocab=settings["vocab_size"],
            seq_len=settings["max_position_embeddings"], norm_eps=settings["layer_norm_eps"],
            exact_gelu=GELU[settings.get("hidden_act", "gelu")],
            next_sentence=PRE_TRAINING in settings.get("architectures", ()),
            classes=len(settings["id2label"]) if CLASSIFIER in settings.get("architectures", ()) else None).complete()


def todays(name):
    """Returns the name that transformers gives a tensor today: the first models have those of TensorFlow."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
