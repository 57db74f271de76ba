"""For gguf_test.py, with the trainer's Python: writes exports with every leaner file, and our logits beside them.

gguf_models.py DIRECTORY
"""

import json
import sys
from pathlib import Path

import export_models  # noqa: F401

import numpy as np
import tiny_tokenizer
from pipe_trainer import config
from pipe_trainer.export import export, leaner
from pipe_trainer.model import model

# The rows of all matrices fill blocks of Q8_0; those of half of them do; the head is another one, with more heads.
MODELS = {
    "blocks": {"d": 64, "heads": 4, "kv_heads": 2, "ff": 96},
    "few": {"d": 48, "heads": 4, "kv_heads": 4, "ff": 64, "vocab": 311},
    "untied": {"d": 64, "heads": 6, "kv_heads": 3, "head_dim": 16, "ff": 96, "tied": False, "rope_theta": 500.0},
}


def main(directory):
    files = leaner.files_of(config.Export(int8=True, gguf="both"))
    for name, shape in MODELS.items():
        shape = config.Model(**{"layers": 2, "seq_len": 32, "vocab": tiny_tokenizer.VOCAB, **shape}).complete()
        params = export_models.parameters(model.shapes(shape))
        for table in params.keys() & {"embed", "head"}:  # logits as of a trained model, not ten times as large
            params[table] = params[table] / 3
        tokenizer = {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}
        export.write(params, shape, tokenizer, {"name": name}, directory / name, files=files)
        np.save(directory / f"{name}.npy", export_models.logits(params, shape))
    (directory / "ids.json").write_text(json.dumps(export_models.READ))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
