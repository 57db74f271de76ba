#!/usr/bin/env python3
"""`trainer: levanter` from text to a model, by the program itself: 20 steps on a CPU, killed behind a checkpoint.

    levanter_run.py PIPE ENVIRONMENT      ENVIRONMENT: that of tests/plugins/train/external/requirements-levanter.txt
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "tests/pages"))

import own_text  # noqa: E402

STEPS, SAVED = 20, 10
FILE = """
pipe: 1
name: levanter
limits: {{ memory: 1GiB }}
stages:
  source: {{ type: download, url: "{root}/text.txt" }}
  lines: {{ type: decompress, input: source }}
  docs: {{ type: split, input: lines, splits: {{ train: rest, validation: 0.05 }} }}
  text: {{ type: write_jsonl, input: docs, unit: document, out: "{root}/text" }}
  train:
    type: train
    plugin: train
    trainer: levanter
    inputs: {{ data_set: text }}
    steps: {steps}
    restarts: 1
    environment: {environment}
    flags:
      levanter:
        data.tokenizer: {root}/tokenizer
        trainer.require_accelerator: false
        trainer.train_batch_size: 32  # a step takes a part of a second, so that a kill falls between two
        trainer.checkpointer.keep: [{{ every: 5 }}]
        model.type: llama
        model.reference_checkpoint: {root}/tokenizer
        model.seq_len: 256
        model.hidden_dim: 32
        model.intermediate_dim: 64
        model.num_layers: 2
        model.num_heads: 2
        model.num_kv_heads: 2
    out: "{root}/out"
"""
# In the environment: a tokenizer of Hugging Face, and the config.json that the export begins with.
TOKENIZER = """
import json, sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
text, out = sys.argv[1:]
made = Tokenizer(models.BPE())
made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
made.train_from_iterator(open(text, encoding="utf-8"), trainers.BpeTrainer(
    vocab_size=500, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>").save_pretrained(out)
open(f"{out}/config.json", "w").write(json.dumps({"model_type": "llama"}))
"""


def check(good, what):
    if not good:
        raise SystemExit(f"levanter_run.py: {what}")


def processes_of(run):
    """The process ids of the program with this directory of a run."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"levanter.main.train_lm" in words and any(str(run).encode() in word for word in words):
            yield int(entry.name)


def killed(run, process):
    """Kills the program when the stage has its checkpoint."""
    while process.poll() is None:
        if (run / f"checkpoints/{SAVED}.json").exists():
            for number in processes_of(run):
                os.kill(number, signal.SIGKILL)
            return
        time.sleep(0.05)


def main(pipe, environment):
    with tempfile.TemporaryDirectory(prefix="lev") as place:  # Ray wants a short path
        root = Path(place)
        (root / "text.txt").write_text(own_text.plain(4000), encoding="utf-8")
        own = {**os.environ, "HOME": place, "RAY_TMPDIR": place, "RAY_USAGE_STATS_ENABLED": "0", "JAX_PLATFORMS": "cpu",
               "HF_HUB_OFFLINE": "1"}
        subprocess.run([f"{environment}/bin/python", "-c", TOKENIZER, root / "text.txt", root / "tokenizer"], check=True, env=own)
        file = root / "levanter.yaml"
        file.write_text(FILE.format(root=root, steps=STEPS, environment=Path(environment).resolve()), encoding="utf-8")
        with open(root / "said", "w+", encoding="utf-8") as said:
            process = subprocess.Popen([pipe, "run", file, "--work", root / "work"], stdout=said, stderr=said, env=own)
            while process.poll() is None and not (runs := list((root / "out/runs").glob("train-*/program"))):
                time.sleep(0.1)
            if process.poll() is None:
                killed(runs[0].parent, process)
            code = process.wait()
            said.seek(0)
            told = said.read()
        check(code == 0, f"the run ended with {code}: {told[-3000:]}")
        begun = re.search(r"goes on from the checkpoint at step ([0-9]+)", told)  # a later one may have come meanwhile
        check(begun and SAVED <= int(begun[1]) < STEPS, f"it began anew: {told[-3000:]}")
        (run,) = (root / "out/runs").glob("train-*")
        result = json.loads((run / "result.json").read_text())
        check(result["steps"] == STEPS, f"its steps are {result}")
        check(0 < result["final"]["loss"] < 7, f"it learned: {result}")
        check(list(run.glob("export/hf/*/model.safetensors")), f"there is no model: {sorted(run.glob('export/*/*'))}")
        print(f"{STEPS} steps, killed and gone on from step {begun[1]}: loss {result['final']['loss']:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
