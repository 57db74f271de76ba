#!/usr/bin/env python3
"""Training steps on a GPU, with the JAX and the PyTorch of the machine: tokens a second beside PyTorch's, the share of the
device's arithmetic (MFU), and the share of the time in which the device waits for rows. Ends within --minutes.

    gpu_steps.py [--minutes 8] [--reader LIBRARY]      LIBRARY: libpipe_reader.so of a build; without it rows are read by numpy
    gpu_steps.py --small [--torch PYTHON]              the same programs on a CPU, in small shapes; PYTHON has PyTorch

Each measurement is a process of its own, so that none has the memory of another. A measurement that fails, or for which no
time is left, is a line of its own, and the exit code is 1.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plugins/train/python"))

VOCAB, SEQ_LEN = 32000, 1024


class Case(NamedTuple):
    name: str
    config: dict  # of a job
    rows: int
    share: float  # of the time, at most


HALF = {"compute": "bfloat16", "attention": "cudnn"}
CASES = (
    Case("ja-0.1b", {"preset": "ja-0.1b", "model": HALF}, 32, 0.3),
    Case("1.4 B", {"preset": "ja-1b", "model": {**HALF, "layers": 26, "kv_heads": 16, "remat": "dots"}}, 16, 0.5),
)
SMALL = (Case("small", {"preset": "tiny", "model": {"compute": "float32", "attention": "dense"}}, 4, 0.8),)


class Clock:
    def __init__(self, minutes):
        self._end = time.monotonic() + 60 * minutes

    def left(self):
        return self._end - time.monotonic()


def measured(name, seconds, *words, environment=None, python=sys.executable):
    """Returns the JSON that the program prints, or None with a line about it."""
    print(f"{name} …", file=sys.stderr, flush=True)
    process = subprocess.Popen([python, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env={**os.environ, **(environment or {})})
    try:
        said, errors = process.communicate(timeout=max(seconds, 1))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with the trainer that it may have started
        process.communicate()
        print(f"{name}: not done in {seconds:.0f} s", flush=True)
        return None
    if process.returncode:
        print(f"{name}: ended with {process.returncode}: {errors.strip()[-600:]}", flush=True)
        return None
    return json.loads(said.splitlines()[-1])


def torch_shape(model, case, seq_len, vocab):
    """The shape of a case for torch_llama.py. `model`: the whole one of trainer_step.py."""
    return {"layers": model["layers"], "d": model["d"], "heads": model["heads"], "ff": model["ff"], "vocab": vocab,
            "head_dim": model["head_dim"] or model["d"] // model["heads"], "seq_len": seq_len, "rows": case.rows}


def report(case, ours, theirs, peak):
    if ours is None:
        return
    said = f"{case.name}: {ours['params'] / 1e6:,.0f} M parameters, {ours['tokens_per_step']:,} tokens a step: "
    said += f"{ours['tokens_per_s']:,} tokens/s ({ours['attention']}, compiled in {ours['compile_s']:.0f} s)"
    if peak:
        said += f", MFU {ours['model_gflops'] / 10 / peak:.1f} %"
    if theirs is not None:
        said += (f"; PyTorch {theirs['torch']}{'' if theirs['compiled'] else ', not compiled'}: {theirs['tokens_per_s']:,} "
                 f"tokens/s, {theirs['params'] / 1e6:,.0f} M; ours / theirs {ours['tokens_per_s'] / theirs['tokens_per_s']:.2f}")
    print(said, flush=True)


def steps_of(case, clock, options, seq_len, vocab):
    """Returns whether both programs have measured a case."""
    from pipe_trainer.run.throughput import peak_tflops
    budget = case.share * clock.left()
    end = time.monotonic() + budget
    ours = measured(f"{case.name}, pipe", budget / 2, HERE / "trainer_step.py", "--config", json.dumps(case.config), "--rows",
                    case.rows, "--seq-len", seq_len, "--vocab", vocab, "--turns", 3, "--steps", options.steps)
    if ours is None:
        return False
    words = [HERE / "torch_llama.py", json.dumps(torch_shape(ours["model"], case, seq_len, vocab)), "--steps", options.steps]
    words += ["--device", "cpu", "--compute", "float32", "--plain"] if options.small else []
    theirs = measured(f"{case.name}, PyTorch", end - time.monotonic(), *words, python=options.torch)
    if theirs is None and not options.small and end - time.monotonic() > 20:  # a machine without a C compiler
        theirs = measured(f"{case.name}, PyTorch, not compiled", end - time.monotonic(), *words, "--plain",
                          python=options.torch)
    report(case, ours, theirs, peak_tflops(ours["device"]))
    return theirs is not None


def waiting(clock, options, seq_len, vocab):
    """Returns whether the share of the time in which a device waits for rows was measured."""
    config = SMALL[0].config if options.small else {**CASES[0].config, "batch": {"rows": CASES[0].rows}}
    environment = {"PIPE_READER_LIBRARY": str(Path(options.reader).resolve())} if options.reader else {}
    found = measured("waiting for rows", clock.left(), HERE / "training_run.py", "--config", json.dumps(config),
                     "--seq-len", seq_len, "--vocab", vocab, "--rows", 200 if options.small else 4000,
                     "--steps", 30 if options.small else 100, environment=environment)
    if found is not None:
        print(f"a training waits for rows in {100 * found['data_wait']:.2f} % of its time; the first step of a warm start is "
              f"done after {found['warm_start_s']:.1f} s", flush=True)
    return found is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--steps", type=int, default=10, help="of a turn")
    parser.add_argument("--reader")
    parser.add_argument("--torch", default=sys.executable)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    clock = Clock(options.minutes)
    seq_len, vocab = (64, 500) if options.small else (SEQ_LEN, VOCAB)
    good = [steps_of(case, clock, options, seq_len, vocab) for case in (SMALL if options.small else CASES)]
    good.append(waiting(clock, options, seq_len, vocab))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
