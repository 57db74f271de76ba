"""The family `llama` as llama.cpp's architecture `llama`: names of its tensors, the order of its rotary pairs, its
metadata."""

import numpy as np

from . import gguf, gguf_tokenizer

ENDS = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight"}
BLOCKS = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
          "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
          "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
LAYER = "model.layers."


def name_of(theirs):
    """Returns llama.cpp's name of a tensor of transformers."""
    if theirs in ENDS:
        return ENDS[theirs]
    layer, part = theirs.removeprefix(LAYER).removesuffix(".weight").split(".", 1)
    return f"blk.{layer}.{BLOCKS[part]}.weight"


def paired(matrix, heads):
    """Brings the rows of q or k into llama.cpp's order: it rotates row 2i of a head with row 2i + 1, and transformers
    row i with row i + half a head."""
    parts = matrix.reshape(heads, 2, -1, matrix.shape[1])
    return np.ascontiguousarray(parts.swapaxes(1, 2)).reshape(matrix.shape)


def tensors_of(tensors, config):
    """Returns the tensors of the form `llama` of an export under llama.cpp's names."""
    def made(theirs, values):
        heads = config.heads if theirs.endswith("q_proj.weight") else config.kv_heads
        return (lambda: paired(values(), heads)) if theirs.endswith(("q_proj.weight", "k_proj.weight")) else values
    return [(name_of(name), shape, made(name, values)) for name, shape, values in tensors]


def metadata_of(config, tokenizer, model, name, kind):
    """`tokenizer`: ids of packed.json; `model`: sentencepiece_model.Model; `kind`: of gguf.FILE_TYPES."""
    numbers = {"vocab_size": config.vocab, "context_length": config.seq_len, "embedding_length": config.d,
               "block_count": config.layers, "feed_forward_length": config.ff,
               "rope.dimension_count": config.head_dim, "attention.head_count": config.heads,
               "attention.head_count_kv": config.kv_heads, "attention.key_length": config.head_dim,
               "attention.value_length": config.head_dim}
    return {
        "general.architecture": ("text", "llama"), "general.type": ("text", "model"), "general.name": ("text", name),
        "general.quantization_version": ("u32", 2), "general.file_type": ("u32", gguf.FILE_TYPES[kind]),
        **{f"llama.{key}": ("u32", value) for key, value in numbers.items()},
        "llama.attention.layer_norm_rms_epsilon": ("f32", config.norm_eps),
        "llama.rope.freq_base": ("f32", config.rope_theta),
        **gguf_tokenizer.metadata_of(model, tokenizer, config.vocab),
    }


def write(path, tensors, config, tokenizer, model, name, kind):
    gguf.write(path, metadata_of(config, tokenizer, model, name, kind), tensors_of(tensors, config), kind)
