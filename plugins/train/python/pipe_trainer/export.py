"""Writes a model as Hugging Face's library reads it: weights in safetensors, config, tokenizer, a card. Reads a Llama
back."""

import json
import os
import shutil
from pathlib import Path

import numpy as np

from . import config as configs
from . import export_bert, masked, model_card, safetensors, sentencepiece_model, tokenizer_json
from .text import form_of

FACTS = "pipe.json"  # for our own reader; not a file of Hugging Face

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


class NotExportable(Exception):
    """The model has no counterpart in transformers."""


def block_shapes(config):
    d, h, ff = config.d, config.head_dim, config.ff
    return {"attn_norm": (d,), "wq": (d, config.heads, h), "wk": (d, config.kv_heads, h),
            "wv": (d, config.kv_heads, h), "wo": (config.heads, h, d), "mlp_norm": (d,), "w_gate": (d, ff),
            "w_up": (d, ff), "w_down": (ff, d)}


def to_out_in(values, inputs):
    """Flattens [in..., out...], with `inputs` axes of input, to the matrix [out, in] of transformers. None: a
    vector."""
    if inputs is None:
        return values
    return values.reshape(int(np.prod(values.shape[:inputs])), -1).T


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


def llama_config(config, tokenizer, dtype):
    def known(name):
        return tokenizer[name] if tokenizer[name] >= 0 else None

    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": config.vocab,
        "hidden_size": config.d, "intermediate_size": config.ff, "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads, "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim, "hidden_act": "silu", "max_position_embeddings": config.seq_len,
        "rms_norm_eps": config.norm_eps, "rope_theta": config.rope_theta, "attention_bias": False,
        "mlp_bias": False, "tie_word_embeddings": config.tied, "initializer_range": config.init_std,
        "bos_token_id": known("eos_id"),  # eos begins a document
        "eos_token_id": known("eos_id"), "pad_token_id": known("pad_id"),
        "torch_dtype": dtype, "use_cache": True,
    }


def tokenizer_files(tokenizer, pieces, seq_len, mask=None):
    """Returns tokenizer_config.json and special_tokens_map.json. `pieces` gives the text of an id; `mask`: the piece in
    the place of hidden ids."""
    named = {name: pieces(tokenizer[f"{name}_id"]) for name in ("eos", "unk", "pad")
             if tokenizer[f"{name}_id"] >= 0}
    special = {"bos_token": named.get("eos"), **{f"{name}_token": piece for name, piece in named.items()}}
    special = {name: piece for name, piece in {**special, "mask_token": mask}.items() if piece is not None}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast",  # reads tokenizer.json, and nothing else
                "add_bos_token": True,
                "add_eos_token": False, "add_prefix_space": False, "clean_up_tokenization_spaces": False,
                "model_max_length": seq_len}
    return {**settings, **special}, special


def write(params, config, tokenizer, facts, directory, dtype="F32", mask_id=None):
    """Writes the whole directory or nothing: it gets its name when everything is written.

    `tokenizer`: the one of packed.json, with `path`, the file tokenizer.model. `facts`: see model_card.text. `mask_id`:
    that of an objective with hidden ids."""
    if config.family not in ("llama", "bert"):
        raise NotExportable(f"a model of family {config.family} has no counterpart in transformers; "
                            f"its checkpoints stay usable")
    directory = Path(directory)
    part = directory.with_name(directory.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    shutil.copyfile(tokenizer["path"], part / "tokenizer.model")
    model_bytes = (part / "tokenizer.model").read_bytes()
    pieces = [piece for piece, _, _ in sentencepiece_model.read(model_bytes).pieces].__getitem__
    ids = {key: value for key, value in tokenizer.items() if key != "path"}
    mask = None
    if mask_id is not None:
        mask = pieces(mask_id) if mask_id < ids["vocab_size"] else masked.NAMES[0]
    settings, special = tokenizer_files(ids, pieces, config.seq_len, mask)
    form = form_of(facts.get("lineage"))
    whole = tokenizer_json.document(model_bytes, ids, form)
    if whole and mask_id is not None:
        tokenizer_json.add_special(whole, mask_id, mask)
    if whole is None:  # only SentencePiece itself reads it
        settings = {**settings, "tokenizer_class": "LlamaTokenizer", "legacy": True}
    known = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}[dtype]
    if config.family == "bert":
        shape, tensors = export_bert.settings(config, ids, known), export_bert.tensors_of(params, config, to_out_in)
        generation = {}
    else:
        shape, tensors = llama_config(config, ids, known), tensors_of(params, config)
        begin = {key: shape[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
        generation = {"generation_config.json": {**begin, "do_sample": True, "temperature": 0.8, "top_p": 0.95}}
    documents = {
        "config.json": shape,
        **generation,
        "tokenizer_config.json": settings,
        "special_tokens_map.json": special,
        FACTS: {"tokenizer": ids, "form": form, **({} if mask_id is None else {"mask_id": mask_id})},
        **({"tokenizer.json": whole} if whole else {}),
    }
    for name, value in documents.items():
        (part / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    card = model_card.text(config, ids, {**facts, "form": form, "tokenizer_json": bool(whole)})
    (part / "README.md").write_text(card, encoding="utf-8")
    safetensors.write(part / "model.safetensors", list(tensors), dtype)
    replace(part, directory)


def replace(part, directory):
    old = directory.with_name(directory.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        os.rename(directory, old)
    os.rename(part, directory)
    shutil.rmtree(old, ignore_errors=True)


def read(directory):
    """Reads an export, to sample from it. Returns (params, config, content of pipe.json)."""
    directory = Path(directory)
    llama, facts = (json.loads((directory / name).read_text(encoding="utf-8"))
                    for name in ("config.json", FACTS))
    if llama["model_type"] != "llama":
        raise NotExportable(f"{directory}: a model of the type {llama['model_type']} continues no text")
    config = configs.Model(
        layers=llama["num_hidden_layers"], d=llama["hidden_size"], heads=llama["num_attention_heads"],
        kv_heads=llama["num_key_value_heads"], head_dim=llama["head_dim"], ff=llama["intermediate_size"],
        vocab=llama["vocab_size"], seq_len=llama["max_position_embeddings"],
        tied=llama["tie_word_embeddings"], rope_theta=llama["rope_theta"], norm_eps=llama["rms_norm_eps"],
        eos=facts["tokenizer"]["eos_id"]).complete()
    tensors = safetensors.read(directory / "model.safetensors")

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
    return params, config, facts
