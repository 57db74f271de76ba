#!/usr/bin/env python3
"""A training step beside the same with one choice made otherwise, as JSON; run with the trainer's Python.

    step_choices.py [--turns 9] [--steps 10]

Both steps of a pair run in this process, in turns; one begins the odd turns, the other the even ones. The ratio is the
median over the turns.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "plugins/train/python"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import trainer_step  # noqa: E402
from pipe_trainer.model import llama, norms  # noqa: E402
from pipe_trainer.run import devices  # noqa: E402

BFLOAT16 = {"model": {"compute": "bfloat16"}}
ROUNDED = {"model": {"compute": "bfloat16", "gradients": "compute"}}
DROPOUT = {"regularizers": {"dropout": 0.1}}
SMOOTHED = {"regularizers": {"label_smoothing": 0.1, "z_loss": 1e-4}}
AVERAGED = {"regularizers": {"ema": 0.999}}


def derived_rms_norm(x, scale, eps):
    """RMSNorm with the gradient that JAX derives, as it was before its gradient was written out."""
    wide = x.astype(jnp.float32)
    normed = wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + eps)
    return normed.astype(x.dtype) * scale.astype(x.dtype)


def warm(sections, norm=norms.rms_norm):
    """Returns a training whose program is compiled."""
    options = SimpleNamespace(config={"preset": "quickstart", **sections}, seq_len=128, vocab=2000, turns=1, steps=1, rows=8)
    with mock.patch.object(llama, "rms_norm", norm):
        train = trainer_step.Training(trainer_step.config_of(options))
        train(1)
    return train


def ratio(one, other, options):
    ratios = []
    for turn in range(options.turns):
        pair = [(name, trainer_step.timed(train, options.steps)) for name, train in
                ((("one", one), ("other", other))[::1 if turn % 2 else -1])]
        seconds = dict(pair)
        ratios.append(seconds["one"] / seconds["other"])
    return {"ratio": statistics.median(ratios), "spread": f"{min(ratios):.3g} to {max(ratios):.3g}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--steps", type=int, default=10, help="of a turn")
    options = parser.parse_args()
    devices.configure(str(devices.cache_place()))
    plain = warm({})
    found = {
        "gradients in float32 / in bfloat16, which is computed in": ratio(warm(BFLOAT16), warm(ROUNDED), options),
        "RMSNorm's own gradient / the derived one, in bfloat16":
            ratio(warm(BFLOAT16), warm(BFLOAT16, derived_rms_norm), options),
        "dropout / none": ratio(warm(DROPOUT), plain, options),
        "label smoothing and z-loss / neither": ratio(warm(SMOOTHED), plain, options),
        "an average of the weights / none": ratio(warm(AVERAGED), plain, options),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
