"""The family `llama` as LlamaForCausalLM of transformers: names of its tensors, its config, and the way back."""

from .. import config as configs
from .form import Form, Unreadable, special_ids

BLOCKS = {
    "attn_norm": "input_layernorm", "wq": "self_attn.q_proj", "wk": "self_attn.k_proj", "wv": "self_attn.v_proj",
    "wo": "self_attn.o_proj", "mlp_norm": "post_attention_layernorm", "w_gate": "mlp.gate_proj", "w_up": "mlp.up_proj",
    "w_down": "mlp.down_proj",
}


class Llama(Form):
    FAMILY = "llama"
    READABLE = {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "rope_scaling": None}

    def names(self, config):
        yield ("embed",), None, "model.embed_tokens.weight"
        for name, theirs in BLOCKS.items():
            for layer in range(config.layers):
                yield ("blocks", name), layer, f"model.layers.{layer}.{theirs}.weight"
        yield ("final_norm",), None, "model.norm.weight"
        if not config.tied:
            yield ("head",), None, "lm_head.weight"

    def settings(self, config, tokenizer, start=None):
        """Returns config.json. `start`: for a decoder behind an encoder."""
        return {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": config.vocab,
            "hidden_size": config.d, "intermediate_size": config.ff, "num_hidden_layers": config.layers,
            "num_attention_heads": config.heads, "num_key_value_heads": config.kv_heads,
            "head_dim": config.head_dim, "hidden_act": "silu", "max_position_embeddings": config.seq_len,
            "rms_norm_eps": config.norm_eps, "rope_theta": config.rope_theta, "attention_bias": False,
            "mlp_bias": False, "tie_word_embeddings": config.tied, "initializer_range": config.init_std,
            **special_ids(tokenizer),
            "torch_dtype": "float32", "use_cache": True,
        }

    def shape_of(self, settings):
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
