#!/usr/bin/env python3
"""A training with its data, checkpoints and results in a bucket, with the real trainer: it continues on a machine that
has no files, and every loss equals that of an uninterrupted training in a directory. A training that gets more steps
starts before the decay, also after a kill.

    bucket_training.py PIPE FAKE_GCS ENVIRONMENT
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

import replan_support as support  # noqa: E402
from fake_buckets import BUCKET, FakeBucket  # noqa: E402

CONFIG = {"preset": "tiny", "model": {"layers": 2, "d": 32, "heads": 2, "ff": 64}, "batch": {"rows": 4},
          "schedule": {"name": "wsd", "warmup": 0, "decay": 0.4}}
DECAYS = {20: 12, 30: 18}  # the step at which the decay starts, by number of steps


def check(good, what):
    if not good:
        raise SystemExit(f"bucket_training.py: {what}")


def pipeline(place, out, environment):
    del place.stages["text"]
    place.source.write_bytes(support.corpus(documents=60))
    place.stages.update({
        # The library's tokenizer gives so many ids of this text that the rows do not fit on the disks of hosts.
        "tokenizer": {"type": "train_tokenizer", "input": "docs", "engine": "sentencepiece", "vocab_size": 400,
                      "byte_fallback": True, "out": f"{out}/tokenizer"},
        "tokens": {"type": "encode", "input": "docs", "tokenizer": "tokenizer"},
        "packed": {"type": "write_packed", "input": "tokens", "seq_len": 32, "out": f"{out}/packed"},
        "train": {"type": "train", "plugin": "train", "inputs": {"data": "packed", "tokenizer": "tokenizer"},
                  "config": CONFIG, "steps": 20, "log_every": 1, "eval_every": 10, "checkpoint_every": 5,
                  "keep_checkpoints": 2, "environment": str(environment), "out": str(out)},
    })
    return place.stages["train"]


def events(place, kind):
    """{step: event} of the trainer's events of one kind in the last run."""
    newest = max(place.work.glob("runs/*/plugin_events.jsonl"), key=lambda path: path.stat().st_mtime)
    told = [json.loads(line)["event"] for line in newest.read_text().splitlines()]
    return {event["step"]: event for event in told if event["kind"] == kind}


def losses(place):
    return {step: event["loss"] for step, event in events(place, "step").items()}


def killed_in_the_extension(place, bucket, before):
    """Sends SIGKILL to `pipe` and its trainer at the first change in the bucket that the longer training makes."""
    def checkpoints(names):
        return {name for name in names if "/checkpoints/" in name}
    process = place.start("--only", "train", start_new_session=True)
    deadline = time.monotonic() + 60
    while checkpoints(bucket.items(BUCKET)) == checkpoints(before):
        check(process.poll() is None and time.monotonic() < deadline, "it ended before its first change in the bucket")
    os.killpg(process.pid, signal.SIGKILL)
    said = process.communicate()[1].decode()
    check(process.returncode == -signal.SIGKILL and "goes on from the checkpoint at step 12" in said, said)
    print("killed at the first change of the longer training in the bucket", flush=True)


def main():
    pipe, fake, environment = (Path(word).absolute() for word in sys.argv[1:4])
    support.PIPE = str(pipe)
    with support.Sandbox() as whole:
        train = pipeline(whole, whole.out, environment)
        train["steps"] = 30
        check(whole.ok().of("jobs", "train") == 1, "the run in a directory")
        wanted = losses(whole)
    check(sorted(wanted) == list(range(1, 31)), sorted(wanted))

    with support.Sandbox() as place, FakeBucket(fake, place.root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        out = f"gs://{BUCKET}/models"
        train = pipeline(place, out, environment)
        check(place.ok().of("jobs", "train") == 1, "the run in a bucket")
        check({step: losses(place)[step] for step in range(1, 13)} == {step: wanted[step] for step in range(1, 13)},
              "the losses before the decay are others")
        check(sorted(events(place, "ckpt_kept"))[-1] == 20, events(place, "ckpt_kept"))
        before = bucket.objects()
        run = next(name for name in before if name.endswith("/result.json")).removesuffix("/result.json")
        check(run.startswith("models/runs/train-"), run)
        job = json.loads(before[f"{run}/job.json"][1])
        check(job["run_dir"] == f"gs://{BUCKET}/{run}" and job["data"]["dir"] == f"{out}/packed", job)
        check(str(place.root) not in json.dumps(job), "a path of this machine is published")
        markers = [name for name in before if name.startswith(f"{run}/checkpoints/") and name.count("/") == 5
                   and name.endswith(".json")]
        kept = sorted(int(name.split("/")[4]) for name in markers)
        check(kept[-1:] == [20] and DECAYS[20] in kept and len(kept) <= 3, markers)  # the newest is sent
        words = [str(pipe), "verify", f"{out}/packed", f"gs://{BUCKET}/{run}"]
        verified = subprocess.run(words, capture_output=True, text=True, timeout=60)
        check(verified.returncode == 0, verified.stdout + verified.stderr)
        print("20 steps in a bucket: published, and the losses are those of a directory", flush=True)

        shutil.rmtree(place.work)
        train["steps"] = 30
        killed_in_the_extension(place, bucket, before)
        again = place.ok("--only", "train")
        check(again.of("jobs", "train") == 1 and sum(again.units.values()) == 1, again.counted())
        first = min(losses(place))
        check(first in (13, 16, 19) and f"goes on from the checkpoint at step {first - 1}" in again.err, again.err)
        check(losses(place) == {step: wanted[step] for step in range(first, 31)}, "the losses behind are others")
        after = bucket.objects()
        steps = {int(name.split("/")[4]) for name in after if name.startswith(f"{run}/checkpoints/")}
        check({DECAYS[30], 30} <= steps and DECAYS[20] not in steps, f"not as it should be: {steps}")
        written = {name for name in after if after[name] != before.get(name) and "/.pipe/" not in name}
        check(all(name.startswith(run) for name in written), written)
        check(json.loads(after[f"{run}/result.json"][1])["steps"] == 30, "an old result")
        print(f"10 more on a machine with nothing, killed and from step {first - 1} on: the losses are those of 30 at once")

        said = subprocess.run([str(pipe), "sample", out, "--environment", str(environment), "--length", "8"],
                              cwd=place.root, capture_output=True, timeout=100)
        check(said.returncode == 0 and said.stdout, said.stderr.decode())
        print("sampled from the bucket")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
