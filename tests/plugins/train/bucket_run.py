#!/usr/bin/env python3
"""`pipe run` of a tiny pipeline in a bucket that ends in `train`, with a trainer that follows instructions
(fake_trainer.py): SIGKILL at random moments; the next run is on an empty machine or on the one before.

    bucket_run.py PIPE FAKE_GCS
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "cli"), str(HERE)]

import replan_support as support  # noqa: E402
import train_run  # noqa: E402
from fake_buckets import BUCKET, FakeBucket  # noqa: E402

OUT = f"gs://{BUCKET}/models"
KILLS = 8


def check(good, what):
    if not good:
        raise SystemExit(f"bucket_run.py: {what}")


def fetch(bucket, path):
    with urllib.request.urlopen(f"{bucket.url}/storage/v1/b/{BUCKET}/o{path}", timeout=20) as answer:
        return answer.read()


def look(bucket):
    """({step: its location} of the checkpoints in the bucket, each of which must verify, and the names of all
    objects)."""
    sizes = {item["name"]: int(item["size"])
             for item in json.loads(fetch(bucket, "?maxResults=1000")).get("items", [])}
    found = {}
    for name in sizes:
        parts = name.split("/")
        if "checkpoints" in parts and name.endswith(".json") and parts.index("checkpoints") == len(parts) - 3:
            marker = json.loads(fetch(bucket, f"/{urllib.parse.quote(name, safe='')}?alt=media"))
            below = name.removesuffix(".json")
            for file in marker["files"]:
                check(sizes.get(f"{below}/{file['name']}") == file["bytes"], f"{name} names {file['name']}")
            found[marker["step"]] = below
    return found, sizes


def committed(bucket):
    """The result of look(), repeated while a run removes objects."""
    while True:
        try:
            return look(bucket)[0]
        except urllib.error.HTTPError as error:
            check(error.code == 404, error)


def killed(sandbox, bucket, chance):
    """Starts a run and kills it some time after its first event about a checkpoint in the bucket."""
    before = set(committed(bucket))
    sandbox.write_file()
    said = sandbox.root / "said"
    process = subprocess.Popen([support.PIPE, "run", str(sandbox.file), "--work", str(sandbox.work)], cwd=sandbox.root,
                               stderr=said.open("w"))
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None and not set(committed(bucket)) - before:
            time.sleep(0.05)
        time.sleep(chance.random() * 0.3)  # at any point of its next actions
    finally:
        process.kill()
        process.wait()
    err = said.read_text()
    check(set(committed(bucket)) - before, f"it never kept a checkpoint\n{err}")
    return err


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)
    print(f"seed {seed}", flush=True)
    with support.Sandbox() as sandbox, FakeBucket(Path(sys.argv[2]).resolve(), sandbox.root / "bucket") as bucket:
        os.environ.update(STORAGE_EMULATOR_HOST=bucket.url, PIPE_LEASE="0.5")
        train = train_run.pipeline(sandbox)
        for stage in ("tokenizer", "packed"):
            sandbox.stages[stage]["out"] = f"{OUT}/{stage}"
        train.update(out=OUT, steps=10**6, checkpoint_every=3, keep_checkpoints=2,
                     config={"preset": "tiny", "weights": 300_000, "fake": [{"steps": 10**9}]})
        reached = 0
        for kill in range(KILLS):
            elsewhere = chance.random() < 0.5
            if elsewhere:
                shutil.rmtree(sandbox.work, ignore_errors=True)
            newest = max(committed(bucket), default=None)
            err = killed(sandbox, bucket, chance)
            if newest is not None and elsewhere:
                check(f"goes on from the checkpoint at step {newest}" in err, f"kill {kill}: not from {newest}\n{err}")
            now = committed(bucket)
            check(max(now) > reached, f"kill {kill}: back from {reached} to {max(now)}")
            # Two, a checkpoint that was just committed, and one for each kill between a marker and the
            # removal of the old.
            check(len(now) <= 3 + kill, f"kill {kill}: {sorted(now)} are kept")
            reached = max(now)
        print(f"killed {KILLS} times: every checkpoint in the bucket was whole, the last at step {reached}", flush=True)

        shutil.rmtree(sandbox.work)
        train["steps"] = reached + 6
        run = sandbox.run("--only", "train")
        check(run.code == 0 and sum(run.units.values()) == 1, f"exit {run.code}, {run.counted()}\n{run.err}")
        check(f"goes on from the checkpoint at step {reached}" in run.err, run.err)
        now = committed(bucket)
        check(len(now) == 2 and max(now) == reached + 6, sorted(now))
        leftovers = [name for name in look(bucket)[1] if "/checkpoints/" in name
                     and not any(name.startswith(below) for below in now.values())]
        check(not leftovers, f"what was half sent stays: {leftovers}")

        before = bucket.objects()
        shutil.rmtree(sandbox.work)
        check(sandbox.ok("--only", "train").of("jobs") == 0, "trained again for nothing")
        changed = [name for name, held in bucket.objects().items()
                   if held != before.get(name) and "/.pipe/" not in name]
        check(not changed, f"written again: {changed}")
        print("elsewhere: goes on from the last, then has nothing to do")

        run_dir = next(name for name in before if name.endswith("/result.json")).removesuffix("/result.json")
        for words in (("verify", f"gs://{BUCKET}/{run_dir}"), ("verify", f"{OUT}/packed"),
                      ("sample", OUT, "--environment", train["environment"], "--prompt", "吾輩は")):
            said = subprocess.run([support.PIPE, *words], cwd=sandbox.root, capture_output=True, text=True, timeout=60)
            check(said.returncode == 0, f"{words}: exit {said.returncode}\n{said.stdout}{said.stderr}")
        check((Path(json.loads(said.stdout)[1]) / "export/model.safetensors").read_text() ==
              f"weights at {reached + 6}", said.stdout)
        scored = subprocess.run([support.PIPE, "eval", OUT, f"{OUT}/packed", "--environment", train["environment"]],
                                cwd=sandbox.root, capture_output=True, text=True, timeout=60, check=False)
        check(scored.returncode == 0, f"eval: exit {scored.returncode}\n{scored.stderr}")
        words = json.loads(scored.stdout)
        check(words[1] == json.loads(said.stdout)[1], "eval brings another model than sample")
        brought = sorted(path.name.partition("-")[0] for path in Path(words[3]).iterdir())
        check(brought == ["MANIFEST.json", "lock", "packed.json", "tokenizer.model", "validation", "validation"],
              f"other files than those of the split: {brought}")

        shutil.rmtree(sandbox.work)
        sandbox.stages["tuned"] = {**train, "inputs": {**train["inputs"], "init_from": "train"}, "steps": 3}
        sandbox.stages["tuned"]["config"] = {"preset": "tiny", "fake": [{}]}
        sandbox.ok("--only", "tuned")
        (job,) = sandbox.work.rglob("tuned-*/job.json")
        model = Path(json.loads(job.read_text())["init_from"])
        check((model / "export/model.safetensors").read_text() == f"weights at {reached + 6}", "another model")
        check(sorted(path.name for path in model.iterdir()) == ["MANIFEST.json", "config.json", "export", "lock"],
              f"other files than those of the model: {sorted(model.iterdir())}")
        published = next(name for name in bucket.objects() if "/tuned-" in name and name.endswith("/job.json"))
        there = json.loads(fetch(bucket, f"/{urllib.parse.quote(published, safe='')}?alt=media"))
        check(there["init_from"] == f"gs://{BUCKET}/{run_dir}", there["init_from"])
        print("a training begins with the model of a run in the bucket")
        print("verify, sample and eval: as they should be")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
