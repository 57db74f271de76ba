#!/usr/bin/env python3
"""Hugging Face's Trainer (hf_trainer.py) under the stage `train`: from text to a model, through kills of the program and
of `pipe` at random moments. The model has the bytes of one whose training nobody disturbed, and knows more than how
often each id occurs.

    external_soak.py PIPE ENVIRONMENT [--kills N] [--seed N]
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("tests/cli", "tests/plugins/train", "tests/plugins/train/external")]

import replan_support as support  # noqa: E402
import torch_run  # noqa: E402
import train_run  # noqa: E402

STEPS = 60
PATIENCE = 1800  # seconds for one training


def check(good, what):
    if not good:
        raise SystemExit(f"external_soak.py: {what}")


def pipeline(sandbox, environment):
    torch_run.pipeline(sandbox)
    sandbox.stages["train"] |= {
        "steps": STEPS, "log_every": 5, "restarts": 50, "environment": str(environment),
        "command": ["python", str(ROOT / "tests/soak/hf_trainer.py"), "--data", "{data}", "--out", "{run_dir}", "--steps",
                    "{steps}", "--seed", "{seed}"],
        "recognise": {"step": "step ([0-9]+) loss", "loss": "loss ([0-9.]+)",
                      "checkpoint": {"directory": "checkpoints", "step": "checkpoint-([0-9]+)",
                                     "commit": "trainer_state.json"}},
        "success": ["model", "losses.json"]}


class Training:
    """`pipe run`, which is started again until it ends well; in a work directory that knows no earlier training, because
    an equal one would be copied."""

    def __init__(self, sandbox, name):
        self.sandbox, self.out, self.work, self.process = sandbox, sandbox.root / name, sandbox.root / f"work-{name}", None
        sandbox.stages["train"]["out"] = str(self.out)
        sandbox.write_file()

    def start(self):
        self.process = subprocess.Popen([support.PIPE, "run", str(self.sandbox.file), "--work", str(self.work)],
                                        cwd=self.sandbox.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def directory(self):
        return next(iter(self.out.glob("runs/*")), None)

    def attempts(self):
        return len(list(self.out.glob("runs/*/logs/attempt-*.log")))

    def programs(self):
        directory = self.directory()
        return [int(number) for number in train_run.trainers_of(directory, "program")] if directory else []

    def finish(self, chance=None, kills=0):
        """Kills so often; returns {victim: kills}."""
        end, done = time.monotonic() + PATIENCE, {"the program": 0, "pipe": 0}
        self.start()
        while self.process.poll() is None:
            check(time.monotonic() < end, f"no end after {PATIENCE} s and {done}")
            # An attempt imports for some seconds, trains for a few, and saves its model.
            time.sleep(chance.uniform(0.5, 14) if sum(done.values()) < kills else 0.2)
            programs = self.programs()
            if sum(done.values()) >= kills or not programs or self.process.poll() is not None:
                continue
            victim = chance.choice(list(done))
            done[victim] += 1
            try:
                os.kill(self.process.pid if victim == "pipe" else programs[0], signal.SIGKILL)
            except ProcessLookupError:
                continue
            if victim == "pipe":
                self.process.communicate()
                check(not wait_for(lambda: not self.programs(), 10), "the program outlived `pipe`")
                self.start()
        _, err = self.process.communicate()
        check(self.process.returncode == 0, err[-3000:])
        return done


def wait_for(condition, seconds):
    """True if it did not become true."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return not condition()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pipe", type=Path)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    support.PIPE = str(options.pipe.resolve())
    os.environ["OMP_NUM_THREADS"] = "1"
    with support.Sandbox() as sandbox:
        pipeline(sandbox, options.environment.resolve())
        began = time.monotonic()
        calm = Training(sandbox, "calm")
        calm.finish()
        wanted = support.tree(calm.directory() / "export")
        losses = json.loads((calm.directory() / "export/losses.json").read_text())
        baseline = torch_run.unigram(sandbox.out / "packed")
        print(f"undisturbed in {time.monotonic() - began:.0f} s: {losses['validation_loss']:.3f} nats held out, unigram "
              f"{baseline:.3f}", flush=True)
        check(losses["steps"] == STEPS and losses["validation_loss"] < baseline - 1, "it learned nothing from the context")
        chance, left, number = random.Random(options.seed), options.kills, 0
        while left > 0:
            began, number = time.monotonic(), number + 1
            training = Training(sandbox, f"killed-{number}")
            done = training.finish(chance, left)
            left -= sum(done.values())
            # transformers puts times into training_args.bin and nowhere else.
            found = support.tree(training.directory() / "export")
            differ = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
            check(set(differ) <= {"model/training_args.bin"}, f"seed {options.seed}: other bytes in {differ}")
            print(f"training {number}: {done['the program']} kills of the program, {done['pipe']} of pipe, "
                  f"{training.attempts()} attempts, the same model ({time.monotonic() - began:.0f} s)", flush=True)
            check(training.attempts() > 1, "a training ended before any kill")
    print(f"{options.kills} kills, seed {options.seed}: as it should be")


if __name__ == "__main__":
    main()
