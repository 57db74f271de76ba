#!/usr/bin/env python3
"""What a whole training run costs beside its steps, as JSON; run with the trainer's Python.

    training_run.py [--steps 150] [--config '{"preset": "quickstart"}'] [--seq-len 128] [--rows 4000] [--vocab 2000]

Trains a model, by default the quick start's, on rows of made ids, twice. `data_wait` is the share of the steps' time in which the
device waited for rows. `warm_start_s` is the time from the start of the second process to the end of its first step;
the first process compiled its programs.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "plugins/train/python"), str(ROOT / "tests/trainer")]

import packed_rows  # noqa: E402
from runs import Run  # noqa: E402

def made(directory, seq_len, rows, vocab):
    make = np.random.default_rng(0)

    def split(rows):
        ids = np.minimum(make.zipf(1.2, seq_len * rows) + 4, vocab - 1).tolist()
        return [list(packed_rows.stream_rows([2, *ids], seq_len))]
    return packed_rows.write_packed(directory, {"train": split(rows), "validation": split(16)}, seq_len, vocab)


def measured(root, data, config, steps, seq_len):
    start = time.monotonic()
    run = Run(root, data, config, threads=0, steps=steps, log_every=1, checkpoint_every=steps)
    first = run.wait_for("step")
    seconds = time.monotonic() - start
    code = run.end()
    if code != 0:
        sys.exit(f"training_run: the trainer ended with {code}:\n{run.log_end()}")
    steps = [event for event in run.of("step") if event is not first]
    spent = [seq_len / event["tokens_per_s"] for event in steps]  # proportional is enough: steps are equal
    waited = sum(event["data_wait"] * part for event, part in zip(steps, spent)) / sum(spent)
    return {"warm_start_s": round(seconds, 2), "data_wait": waited}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--config", type=json.loads, default={"preset": "quickstart"})
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--vocab", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        data = made(Path(root) / "rows", options.seq_len, options.rows, options.vocab)
        measured(Path(root) / "cold", data, options.config, 2, options.seq_len)
        print(json.dumps(measured(Path(root) / "warm", data, options.config, options.steps, options.seq_len)))


if __name__ == "__main__":
    main()
