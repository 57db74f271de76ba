"""Leaner files of exports, read by the packages gguf and safetensors: bytes and metadata, and the logits of a forward
pass in numpy are ours. transformers loads the plain model beside them.

gguf_test.py TRAINER: TRAINER is the trainer's environment; this runs in .venv-oracle-hf.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import gguf  # noqa: E402
import numpy as np  # noqa: E402
import transformers  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "trainer"))

import llama_forward  # noqa: E402

TRAINER = sys.argv.pop(1)
PARTS = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
ENDS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
# Greatest difference of a logit, of magnitudes up to 5: weights have errors of 2^-12, and of 1/254 of the greatest one
# of their block.
BOUNDS = {"f16": 1e-3, "q8_0": 0.05}
TYPES = gguf.GGMLQuantizationType


def theirs(name):
    """The name of transformers of a tensor of GGUF."""
    name = name.removesuffix(".weight")
    if name in ENDS:
        return ENDS[name] + ".weight"
    _, layer, part = name.split(".")
    return f"model.layers.{layer}.{PARTS[part]}.weight"


def interleaved(name, matrix, settings):
    """The rows of q and k as llama.cpp pairs them."""
    heads = {"attn_q": "num_attention_heads", "attn_k": "num_key_value_heads"}.get(name.split(".")[-2])
    if heads is None:
        return matrix
    rows = np.arange(len(matrix)).reshape(settings[heads], 2, -1)
    return matrix[np.stack([rows[:, 0], rows[:, 1]], -1).ravel()]


class Leaner(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.at = Path(place.name)
        subprocess.run([f"{TRAINER}/bin/python", HERE / "gguf_models.py", cls.at], check=True,
                       env={**os.environ, "JAX_PLATFORMS": "cpu"})
        cls.ids = np.asarray(json.loads((cls.at / "ids.json").read_text()))
        cls.models = sorted(path for path in cls.at.iterdir() if path.is_dir())

    def files(self):
        for place in self.models:
            settings = json.loads((place / "config.json").read_text())
            for kind in BOUNDS:
                yield place, settings, kind, gguf.GGUFReader(place / f"model-{kind}.gguf")

    def test_a_forward_pass_of_the_file_gives_our_logits(self):
        self.assertEqual(len(self.models), 3)
        for place, settings, kind, file in self.files():
            weights = {theirs(part.name): gguf.dequantize(part.data, part.tensor_type) for part in file.tensors}
            found = llama_forward.logits(settings, weights, self.ids, interleaved=True)
            ours = np.load(self.at / f"{place.name}.npy")
            self.assertTrue(1 < np.abs(ours).max() < 5)
            self.assertLess(np.abs(found - ours).max(), BOUNDS[kind], f"{place.name} {kind}")

    def test_every_tensor_has_the_bytes_that_gguf_makes_of_the_plain_one(self):
        for place, settings, kind, file in self.files():
            plain = load_file(place / "model.safetensors")
            self.assertEqual({theirs(part.name) for part in file.tensors}, plain.keys())
            for part in file.tensors:
                values = interleaved(part.name, plain[theirs(part.name)], settings)
                wanted = TYPES.F32 if values.ndim == 1 else TYPES.F16
                if wanted is TYPES.F16 and kind == "q8_0" and values.shape[1] % 32 == 0:
                    wanted = TYPES.Q8_0
                self.assertEqual(part.tensor_type, wanted, part.name)
                made = gguf.quantize(values, wanted) if wanted is not TYPES.F16 else values.astype(np.float16)
                self.assertEqual(part.data.tobytes(), made.tobytes(), part.name)
                self.assertEqual(part.data_offset % gguf.GGUF_DEFAULT_ALIGNMENT, 0)

    def test_metadata_is_that_of_the_model_and_of_its_tokenizer(self):
        keys = gguf.Keys
        for place, settings, kind, file in self.files():
            found = {name: field.contents() for name, field in file.fields.items()}
            told = {keys.General.ARCHITECTURE: "llama", keys.General.NAME: place.name,
                    keys.General.FILE_TYPE: {"f16": gguf.LlamaFileType.MOSTLY_F16,
                                             "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}[kind],
                    keys.General.QUANTIZATION_VERSION: gguf.GGML_QUANT_VERSION}
            for key, name in ((keys.LLM.VOCAB_SIZE, "vocab_size"), (keys.LLM.CONTEXT_LENGTH, "max_position_embeddings"),
                              (keys.LLM.EMBEDDING_LENGTH, "hidden_size"), (keys.LLM.BLOCK_COUNT, "num_hidden_layers"),
                              (keys.LLM.FEED_FORWARD_LENGTH, "intermediate_size"),
                              (keys.Attention.HEAD_COUNT, "num_attention_heads"),
                              (keys.Attention.HEAD_COUNT_KV, "num_key_value_heads"), (keys.Attention.KEY_LENGTH, "head_dim"),
                              (keys.Attention.VALUE_LENGTH, "head_dim"), (keys.Rope.DIMENSION_COUNT, "head_dim"),
                              (keys.Rope.FREQ_BASE, "rope_theta")):
                told[key.format(arch="llama")] = settings[name]
            told[keys.Attention.LAYERNORM_RMS_EPS.format(arch="llama")] = float(np.float32(settings["rms_norm_eps"]))
            whole = json.loads((place / "tokenizer.json").read_text())
            pieces, rest = whole["model"]["vocab"], range(len(whole["model"]["vocab"]), settings["vocab_size"])
            told |= {keys.Tokenizer.MODEL: "t5", keys.Tokenizer.PRE: "default",
                     keys.Tokenizer.LIST: [text for text, _ in pieces] + [f"[PAD{number}]" for number in rest],
                     keys.Tokenizer.SCORES: [score for _, score in pieces] + [-10000.0 for _ in rest],
                     keys.Tokenizer.BOS_ID: settings["bos_token_id"], keys.Tokenizer.EOS_ID: settings["eos_token_id"],
                     keys.Tokenizer.PAD_ID: settings["pad_token_id"], keys.Tokenizer.UNK_ID: whole["model"]["unk_id"],
                     keys.Tokenizer.ADD_BOS: True, keys.Tokenizer.ADD_EOS: False, keys.Tokenizer.ADD_PREFIX: False,
                     keys.Tokenizer.REMOVE_EXTRA_WS: False}
            types = found.pop(keys.Tokenizer.TOKEN_TYPE)
            self.assertEqual({name: value for name, value in found.items() if not name.startswith("GGUF.")},
                             {**told, keys.General.TYPE: "model"})
            kinds = gguf.TokenType
            self.assertEqual(types, [kinds.CONTROL] * 3 + [kinds.UNKNOWN, kinds.USER_DEFINED] + [kinds.BYTE] * 256
                             + [kinds.NORMAL] * (len(pieces) - 261) + [kinds.UNUSED] * len(rest))

    def test_transformers_takes_the_plain_model_and_the_page_s_lines_take_the_other(self):
        import torch
        from safetensors.torch import load_file as load_torch
        for place in self.models:
            with self.subTest(place.name), torch.no_grad():
                model, told = transformers.AutoModelForCausalLM.from_pretrained(place, output_loading_info=True)
                self.assertEqual([told[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")], [[], [], []])
                ours, given = np.load(self.at / f"{place.name}.npy"), {"input_ids": torch.tensor(self.ids[None])}
                self.assertLess(np.abs(model.eval()(**given).logits[0].numpy() - ours).max(), 1e-4)
                tensors = load_torch(place / "int8.safetensors")
                scales = {name[:-6]: tensors.pop(name) for name in list(tensors) if name.endswith(".scale")}
                told = model.load_state_dict({name: value * scales[name][:, None] if name in scales else value
                                              for name, value in tensors.items()}, strict=False)
                self.assertEqual(told.unexpected_keys, [])
                off = np.abs(model(**given).logits[0].numpy() - ours).max()
                self.assertTrue(1e-4 < off < 0.1, off)


if __name__ == "__main__":
    unittest.main()
