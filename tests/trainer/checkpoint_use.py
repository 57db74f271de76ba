#!/usr/bin/env python3
"""The model of a training at its checkpoints: `pipe export` gives that of a shorter training, `pipe eval --step` scores
it as the training did, and `pipe eval --follow` scores the checkpoints of a training that goes on, each once.

    checkpoint_use.py PIPE ENVIRONMENT
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

import bucket_training as shared  # noqa: E402
import replan_support as support  # noqa: E402

STEPS, EVERY = 12, 4
CONFIG = {"preset": "tiny", "model": {"layers": 1}, "schedule": {"name": "const", "warmup": 0}, "eval": {"rows": 0}}


def check(good, what):
    if not good:
        raise SystemExit(f"checkpoint_use.py: {what}")


def pipeline(place, environment):
    shared.pipeline(place, place.out, environment).update(
        config=CONFIG, steps=STEPS, eval_every=EVERY, checkpoint_every=EVERY, keep_checkpoints=20)


class Commands:
    def __init__(self, place, environment):
        self.place, self.environment = place, environment

    def words(self, *words):
        return [support.PIPE, *map(str, words), "--environment", str(self.environment)]

    def run(self, *words):
        return subprocess.run(self.words(*words), capture_output=True, text=True, cwd=self.place.root, timeout=90,
                              check=False)

    def ok(self, *words):
        done = self.run(*words)
        check(done.returncode == 0, f"pipe {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def refused(self, code, said, *words):
        done = self.run(*words)
        check(done.returncode == code and said in done.stderr and "\n" not in done.stderr.strip(),
              f"pipe {' '.join(map(str, words))}: {done.returncode}\n{done.stderr}  instead of {said}")


def trained(place, name, **changes):
    """Trains with changes of the stage, into a folder of its own. Returns the run directory."""
    train = place.stages["train"]
    before = dict(train)
    train.update(changes, out=str(place.out / name))
    place.ok(timeout=120)
    train.clear()
    train.update(before)
    (run,) = (place.out / name / "runs").iterdir()
    return run


def losses(run):
    events = map(json.loads, (run / "events.jsonl").read_text().splitlines())
    return {event["step"]: event["loss"] for event in events if event["kind"] == "eval"}


def exports(place, commands, run):
    short = trained(place, "short", steps=EVERY, config={**CONFIG, "export": {"int8": True, "gguf": "q8_0"}})
    out = place.root / "early"
    said = commands.ok("export", run, "--step", EVERY, "--int8", "--gguf", "q8_0", "--out", out)
    for file in ("model.safetensors", "int8.safetensors", "model-q8_0.gguf", "tokenizer.json", "config.json"):
        check((out / file).read_bytes() == (short / "export" / file).read_bytes(), f"{file} is not that of {EVERY} steps")
    check(f"step {EVERY}, scored on " in said, said)
    prices = json.loads((short / "result.json").read_text())["leaner"]
    for price in prices:
        row = re.search(rf"  {re.escape(price['file'])} .*", said)
        check(row and f"{price['bytes_of_file']:,}" in row[0] and f"{price['loss']:.4f}" in row[0], said)
        check(f"| `{price['file']}` |" in (out / "README.md").read_text(), "the card lacks a price")
    last = place.root / "last"
    commands.ok("export", run, "--out", last)
    for path in (run / "export").iterdir():
        if path.name != "README.md":
            check((last / path.name).read_bytes() == path.read_bytes(), f"{path.name} is not that of the training")
    check(sorted(path.name for path in last.iterdir()) == sorted(path.name for path in (run / "export").iterdir()), last)
    pruned = place.root / "pruned"
    commands.ok("export", run, "--prune", 0.5, "--out", pruned)
    check("50.00% of the matrices of the layers are 0" in (pruned / "README.md").read_text(), "the card of a pruned model")
    # An export is a model for the other commands.
    check(commands.ok("sample", out, "--prompt", "猫", "--length", 3).strip(), "no sample of an export")
    whole, of_export = (commands.ok("eval", at, place.out / "packed") for at in (run, last))
    check(whole == of_export, of_export)
    check(not list(place.root.glob("*.part")), "something is left")


def scores(place, commands, run):
    told = losses(run)
    check(sorted(told) == list(range(EVERY, STEPS + 1, EVERY)), told)
    for step in (EVERY, STEPS):
        file = place.root / "scores.json"
        said = commands.ok("eval", run, "--step", step, "--json", file)
        found = json.loads(file.read_text())
        check(found["loss"] == told[step] and f"{found['loss']:.4f} nats" in said, f"{found['loss']} at {step} of {told}")
    check(commands.ok("eval", run) == commands.ok("eval", run, place.out / "packed"), "the rows of the training")


def refusals(place, commands, run):
    out = place.root / "new"
    commands.refused(2, f"has no checkpoint at step 7; it has {EVERY}, {2 * EVERY}, {STEPS}", "export", run, "--step", 7,
                     "--out", out)
    commands.refused(2, "is there already", "export", run, "--out", place.root)
    commands.refused(2, "--gguf: 'q4' is none of f16, q8_0, both", "export", run, "--gguf", "q4", "--out", out)
    commands.refused(2, "--int8 takes no value", "export", run, "--int8=yes", "--out", out)
    commands.refused(2, "--out", "export", run)
    commands.refused(2, "leave --step out", "eval", run, "--follow", "--step", EVERY)
    commands.refused(2, "leave --split out", "eval", run, "--follow", "--split", "train")
    commands.refused(2, "--prune: 1 would leave no weight", "export", run, "--prune", "1", "--out", out)
    (place.root / "new.part").mkdir()
    commands.refused(2, "is no copy that a killed `pipe export` has left", "export", run, "--out", out)
    (place.root / "new.part").rmdir()
    commands.refused(2, "no packed rows", "export", run, "--data", place.root, "--out", out)
    packed, aside = place.out / "packed", place.out / "aside"
    packed.rename(aside)
    commands.refused(2, "or name them with --data", "export", run, "--out", out)
    (place.root / "new.part").mkdir()
    (place.root / "new.part/lock").write_text("")  # as a killed export leaves it
    commands.ok("export", run, "--data", aside, "--out", out)
    aside.rename(packed)
    damaged = next(path for path in (run / f"checkpoints/{EVERY}").rglob("*") if path.is_file() and path.stat().st_size > 9)
    bytes_ = damaged.read_bytes()
    damaged.write_bytes(bytes_[:-1])
    done = commands.run("eval", run, "--step", EVERY)
    check(done.returncode == 2 and f"its checkpoint at step {EVERY} is gone, or not whole" in done.stderr, done.stderr)
    damaged.write_bytes(bytes_)


def began_with_another(place, commands, run):
    """The model that a training began with may be gone: its checkpoints are whole."""
    first = place.root / "first"
    shutil.copytree(run / "export", first)
    inputs = {"data": "packed", "tokenizer": "tokenizer", "init_from": str(first / "model.safetensors")}
    tuned = trained(place, "tuned", steps=2, checkpoint_every=2, inputs=inputs,
                    config={key: value for key, value in CONFIG.items() if key != "model"})
    shutil.rmtree(first)
    commands.ok("export", tuned, "--out", place.root / "tuned")
    check((place.root / "tuned/model.safetensors").read_bytes() == (tuned / "export/model.safetensors").read_bytes(),
          "another model than that of the training")


def steps_of(run):
    return sorted(int(path.name.split(".")[3]) for path in run.glob("tensorboard/eval/events.out.tfevents.*.scores"))


def follows(place, commands):
    """A training that goes on, and a follower that is killed and started again."""
    train, name = place.stages["train"], "followed"
    train.update(steps=400, eval_every=0, checkpoint_every=40, out=str(place.out / name))
    process = place.start()
    runs, deadline = place.out / name / "runs", time.monotonic() + 60
    while not list(runs.glob("*/job.json")):
        check(process.poll() is None and time.monotonic() < deadline, "it does not begin to train")
        time.sleep(0.05)
    (run,) = runs.iterdir()
    words = commands.words("eval", run, "--follow")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                          cwd=place.root) as follower:
        check(follower.stdout.readline().startswith("step "), "no scores")
        os.killpg(follower.pid, signal.SIGKILL)
    scored = steps_of(run)
    lines = commands.ok("eval", run, "--follow").splitlines()
    process.communicate(timeout=60)
    check(process.returncode == 0, "the training fails")
    steps = [int(re.match(r"step (\d+): \d", line)[1]) for line in lines]
    check(sorted(steps) == steps and not set(scored) & set(steps), f"not each once: {lines} behind {scored}")
    check(steps_of(run) == list(range(40, 401, 40)), f"{steps_of(run)}: {scored} and then {steps}")
    check(commands.ok("eval", run, "--follow") == "", "it scores them again")
    # The training goes back and makes a step again: another checkpoint has its place.
    name = next((run / "tensorboard/eval").glob("*.000000000080.*.scores"))
    other = name.with_name(name.name.replace(name.name.split(".")[4], "0123456789abcdef"))
    name.rename(other)
    check(commands.ok("eval", run, "--follow").startswith("step 80: "), "a checkpoint that was made again")
    check(name.exists() and not other.exists(), "the scores of the former one are left")
    left = place.root / ".pipe/fetched/copies"
    (left / "0a0b0c0d").mkdir(parents=True)
    (left / "0a0b0c0d/lock").write_text("")
    os.utime(left / "0a0b0c0d/lock", (0, 0))
    commands.ok("eval", run, "--step", 80)
    check(not (left / "0a0b0c0d").exists(), "the copy that a kill has left is there")


def main():
    pipe, environment = (Path(word).absolute() for word in sys.argv[1:3])
    support.PIPE = str(pipe)
    with support.Sandbox() as place:
        pipeline(place, environment)
        commands = Commands(place, environment)
        beside = set((pipe.parent / "plugins/train").rglob("*"))
        run = trained(place, "whole")
        for part in (exports, scores, refusals, began_with_another):
            began = time.monotonic()
            part(place, commands, run)
            print(f"{part.__name__}: {time.monotonic() - began:.1f} s", flush=True)
        follows(place, commands)
        left = set((pipe.parent / "plugins/train").rglob("*")) - beside
        check(not left, f"beside the trainer's code: {left}")


if __name__ == "__main__":
    main()
