"""The rows of `run.py` about the trainer: its step, its reader, a whole run."""

import json
import os
import statistics
from pathlib import Path

from measuring import output_of, spread

HERE = Path(__file__).resolve().parent


def training(bench):
    """Compares a training step with a bare product, with PyTorch and with its reader, and a whole run with its
    steps."""
    shapes = {"4 layers of 128": {"layers": 4, "d": 128, "heads": 4, "vocab": 2000, "seq_len": 128, "rows": 8},
              "6 layers of 384": {"layers": 6, "d": 384, "heads": 6, "vocab": 8000, "seq_len": 256, "rows": 8}}
    fastest = 0.0
    for name, shape in shapes.items():
        steps = 20 if shape["d"] < 256 else 4
        ours, theirs = [], []
        for _ in range(3):  # processes in turns; the best turn of each process counts, and the median of all processes
            ours.append(train_step(bench, shape, steps))
            theirs.append(json_of(bench, "/usr/bin/python3", HERE / "torch_step.py", json.dumps(shape), "--turns", 3,
                                        "--steps", steps))
        values = [one["ratio"] for one in ours]
        bench.row(f"FLOP/s of a training step / of a bare product of its MLP's shape, {name}", statistics.median(values),
                  0.5 if shape["d"] > 256 else None,
                  note=f"{spread(values)}; {statistics.median(one['model_gflops'] for one in ours):.0f} GFLOP/s")
        values = [one["tokens_per_s"] / two["tokens_per_s"] for one, two in zip(ours, theirs)]
        bench.row(f"tokens/s of a training step / of a loop in PyTorch {theirs[0]['torch']}, {name}",
                  statistics.median(values), None,
                  note=f"{spread(values)}; aim 0.8; {statistics.median(one['tokens_per_s'] for one in ours):,.0f} a second")
        fastest = max(fastest, *(one["tokens_per_s"] for one in ours))
    for name, found in json_of(bench, bench.trainer, HERE / "step_choices.py").items():
        bench.row(f"time of a training step, {name}", found["ratio"], None, note=found["spread"])
    read = json_of(bench, bench.trainer, HERE / "reader_rows.py", "--json")["native shuffled"]
    bench.row("tokens/s of the reader on one core / of the trainer, 4 layers of 128", read / fastest, 20,
              note=f"{read / 1e6:.0f} M a second")
    whole = json_of(bench, bench.trainer, HERE / "training_run.py")
    bench.row("share of the steps' time in which the device waited for rows", 100 * whole["data_wait"], 1, most=True, unit=" %")
    bench.row("start of a trainer whose programs are compiled, to the end of its first step", whole["warm_start_s"], 60,
              most=True, unit=" s")
    print("| MFU, and the ratio to PyTorch on the same card | not measured | | | everything here runs on the CPU |")


def train_step(bench, shape, steps):
    model = {key: shape[key] for key in ("layers", "d", "heads")}
    config = {"preset": "quickstart", "model": {**model, "ff": round(shape["d"] * 8 / 3 / 32) * 32}}
    return json_of(bench, bench.trainer, HERE / "trainer_step.py", "--config", json.dumps(config), "--vocab", shape["vocab"],
                         "--seq-len", shape["seq_len"], "--rows", shape["rows"], "--turns", 3, "--steps", steps)


def json_of(bench, *command):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(HERE.parent / "plugins/train/python"),
                   "PIPE_READER_LIBRARY": str(bench.binaries / "plugins/train/libpipe_reader.so")}
    return json.loads(output_of(*command, env=environment))
