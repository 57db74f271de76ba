#!/usr/bin/env python3
"""The curves of a training in a bucket, after three kills and on two machines: TensorBoard's own loader reads each point
of the objects once, with the values of a training that nobody disturbed; so do readers of the events.

    curves_test.py PIPE FAKE_GCS ENVIRONMENT
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "plugins/train/python")]

import replan_support as support  # noqa: E402
from fake_buckets import BUCKET, FakeBucket  # noqa: E402
from pipe_trainer.run.tensorboard import Writer  # noqa: E402

STEPS, EVERY, EVALUATED = 40, 5, 5
KEPT = (30, 35, 40)  # the steps of the checkpoints that are kept
TRACED = 32  # the first step of a trace: the last attempt takes it
CONFIG = {"preset": "tiny", "batch": {"rows": 48}, "schedule": {"name": "const"}}  # slow enough to be killed in time


def check(good, what):
    if not good:
        raise SystemExit(f"curves_test.py: {what}")


def pipeline(place, out, environment):
    del place.stages["text"]
    place.source.write_bytes(support.corpus(documents=300))
    place.stages.update({
        "tokenizer": {"type": "train_tokenizer", "input": "docs", "vocab_size": 400, "byte_fallback": True,
                      "out": f"{out}/tokenizer"},
        "tokens": {"type": "encode", "input": "docs", "tokenizer": "tokenizer"},
        "packed": {"type": "write_packed", "input": "tokens", "seq_len": 64, "out": f"{out}/packed"},
        "train": {"type": "train", "plugin": "train", "inputs": {"data": "packed", "tokenizer": "tokenizer"},
                  "config": CONFIG, "steps": STEPS, "log_every": 1, "eval_every": EVALUATED, "checkpoint_every": EVERY,
                  "prompts": ["猫"], "profile": {"step": TRACED, "steps": 2}, "environment": str(environment), "out": str(out)},
    })


def killed_at(place, step, attempt):
    """Kills `pipe` and its trainer at this step of this attempt, or soon after it."""
    process = place.start(start_new_session=True)
    deadline = time.monotonic() + 90
    wanted = re.compile(rf'"attempt":{attempt},.*"kind":"step".*"step":{step},')
    while True:
        check(process.poll() is None and time.monotonic() < deadline,
              f"it ended before step {step}: {process.poll() is not None and process.communicate()}")
        kept = list(place.work.glob("kept/train/runs/*/events.jsonl"))
        if kept and wanted.search(kept[0].read_text()):
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    check(process.returncode == -signal.SIGKILL, process.returncode)
    print(f"killed at step {step}", flush=True)


def curves(directory):
    """{tag: [(step, value)]} as the program TensorBoard shows them: its loader has all values as tensors."""
    loader = EventAccumulator(str(directory), size_guidance={"tensors": 0})
    loader.Reload()

    def value(tensor):
        return tensor.string_val[0].decode() if tensor.string_val else make_ndarray(tensor).item()
    return {tag: [(point.step, value(point.tensor_proto)) for point in loader.Tensors(tag)]
            for tag in loader.Tags()["tensors"] if not tag.endswith(("tokens_per_s", "mfu"))}


def draws_once(directory):
    """An attempt makes steps again whose points another one has drawn."""
    wanted = [("loss", step, float(step)) for step in range(1, 31)] + [("text", step, f"text {step}") for step in range(5, 31, 5)]
    for first in (1, 21):
        writer = Writer(directory, first)
        for kind, step, told in wanted:
            if step >= first:
                (writer.text if kind == "text" else writer.scalar)(kind, step, told)
    found = curves(directory)
    check(found == {tag: [(step, told) for kind, step, told in wanted if kind == tag] for tag in ("loss", "text")}, found)


def points(events):
    """{kind: [(step, loss)]} of events, by the rules of CONTRACT.md, section 5."""
    found, attempt = {"step": [], "eval": []}, 0

    def go_back(step):
        for kind, told in found.items():
            found[kind] = [point for point in told if point[0] <= step]
    for line in events.splitlines():
        event = json.loads(line)
        if event["kind"] == "restore":
            attempt = event["attempt"]
            go_back(event["step"])
        if event["kind"] in found:
            if event["attempt"] > attempt:
                attempt = event["attempt"]
                go_back(event["step"] - 1)
            found[event["kind"]].append((event["step"], event["loss"]))
    return found


def follows(place, environment):
    """Scores the checkpoints that are kept, as another machine does."""
    run = f"gs://{BUCKET}/models/runs/{next(place.work.glob('kept/train/runs/*')).name}"
    for lines in (len(KEPT), 0):
        done = subprocess.run([support.PIPE, "eval", run, "--follow", "--environment", str(environment)], cwd=place.root,
                              capture_output=True, text=True, check=False)
        check(done.returncode == 0 and len(done.stdout.splitlines()) == lines, f"{done.stdout}{done.stderr}")


def main():
    pipe, fake, environment = (Path(word).absolute() for word in sys.argv[1:4])
    support.PIPE = str(pipe)
    with tempfile.TemporaryDirectory() as directory:
        draws_once(directory)
    with support.Sandbox() as whole:
        pipeline(whole, whole.out, environment)
        check(whole.ok().of("jobs", "train") == 1, "the run in a directory")
        (run,) = whole.out.glob("runs/*")
        wanted, told = curves(run / "tensorboard"), points((run / "events.jsonl").read_text())
    check([step for step, _ in wanted["train/loss"]] == list(range(1, STEPS + 1)), wanted["train/loss"])
    check([step for step, _ in wanted["samples/猫"]] == list(range(EVALUATED, STEPS + 1, EVALUATED)), wanted.keys())

    with support.Sandbox() as place, FakeBucket(fake, place.root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        pipeline(place, f"gs://{BUCKET}/models", environment)
        killed_at(place, 3, attempt=1)  # before the first checkpoint: it begins anew
        killed_at(place, 17, attempt=2)
        shutil.rmtree(place.work)
        killed_at(place, 26, attempt=3)
        place.ok("--only", "train")
        follows(place, environment)
        copied, events = place.root / "copied", ""
        for name, (_, data) in sorted(bucket.objects().items()):
            folder, _, last = name.partition("/tensorboard/")
            if last:
                (copied / last).parent.mkdir(parents=True, exist_ok=True)
                (copied / last).write_bytes(data)
            if "/events/" in name:
                events += data.decode()
        logs = [name for name in bucket.objects() if "/logs/attempt-" in name]
        found, scored = curves(copied), curves(copied / "eval")
        traces = [str(path.relative_to(copied)) for path in copied.glob("plugins/profile/*/*.xplane.pb") if path.stat().st_size]
    check(len(traces) == 1 and traces[0].startswith(f"plugins/profile/attempt-4-step-{TRACED}/"), traces)
    check(scored["evaluation/loss"] == [point for point in wanted["evaluation/loss"] if point[0] in KEPT],
          f"{scored['evaluation/loss']}\n  instead of points of {wanted['evaluation/loss']}")
    check(found.keys() == wanted.keys(), (found.keys(), wanted.keys()))
    for tag, of_whole in wanted.items():
        check(found[tag] == of_whole, f"{tag}: {found[tag]}\n  instead of {of_whole}")
    check(points(events) == told, f"{points(events)}\n  instead of {told}")
    check(len({name.split("/logs/")[1].split(".")[0] for name in logs}) == 4, logs)
    print(f"{sum(map(len, found.values()))} points of {len(found)} curves, each once, as without kills")


if __name__ == "__main__":
    main()
