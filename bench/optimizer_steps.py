#!/usr/bin/env python3
"""Steps that each optimiser needs to reach the final loss of AdamW, on the copy task of tests/trainer/test_copy_task.py.

    PYTHONPATH=plugins/train/python:tests/trainer .pipe/trainer/bin/python bench/optimizer_steps.py [--steps 120] [--seeds 5]

Each optimiser tries the same number of learning rates, with a seed that is not counted, and keeps the best. The rate rises
for 5 % of the steps and stays, so that the loss of a step does not depend on the end of the run. AdamW's loss is the mean
of its last steps over all seeds; another optimiser is there when the mean of as many steps is as low. Prints JSON lines.
"""

import argparse
import dataclasses
import json
import math
import tempfile

import numpy as np
import session
from test_copy_task import copies

from pipe_trainer.config import OWN_DEFAULTS, Optimizer

RATES = {
    "adamw": (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2),
    "adafactor": (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2),
    "amos": (5e-3, 1e-2, 2e-2, 4e-2, 8e-2),
    "muon": (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2),
}
ROWS = 32


def losses(name, lr, seed, steps):
    settings = {"name": name, "b2": 0.99, **OWN_DEFAULTS.get(name, {}), "lr": lr}
    with tempfile.TemporaryDirectory() as place:
        job = session.small_job(place, {
            "model": {"layers": 2, "d": 64, "heads": 2, "kv_heads": 2, "ff": 128}, "batch": {"rows": ROWS},
            "schedule": {"name": "const", "warmup": 0.05}}, steps=steps, seed=seed, checkpoint_every=10 * steps)
        job = dataclasses.replace(job, config=dataclasses.replace(job.config, optimizer=Optimizer(**settings)))
        told = session.trained(job, copies(ROWS * steps, seed)).events.losses()
    return [told[step] for step in sorted(told)]


def final(values, width):
    """The mean of the last steps; infinite if the run did not end."""
    mean = float(np.mean(values[-width:])) if values else math.inf
    return mean if math.isfinite(mean) else math.inf


def reached(values, target, width):
    """The first step at which the mean of the last `width` steps is at most `target`; None: never."""
    means = np.convolve(values, np.full(width, 1 / width), "valid")
    return next((number + width for number, mean in enumerate(means) if mean <= target), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rates", type=int, default=5, help="learning rates that each optimiser tries, at most 5")
    options = parser.parse_args()
    width, target = max(options.steps // 20, 1), None
    for name, rates in RATES.items():
        tried = {lr: final(losses(name, lr, options.seeds, options.steps), width) for lr in rates[:options.rates]}
        lr = min(tried, key=tried.get)
        runs = [losses(name, lr, seed, options.steps) for seed in range(options.seeds)]
        if target is None:  # AdamW is the first
            target = float(np.mean([final(values, width) for values in runs]))
        print(json.dumps({"optimizer": name, "lr": lr, "tried": tried, "target": round(target, 4),
                          "final": [round(final(values, width), 4) for values in runs],
                          "steps": [reached(values, target, width) for values in runs]}), flush=True)


if __name__ == "__main__":
    main()
