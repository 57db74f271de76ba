#!/usr/bin/env python3
"""`pipe tensorboard`: TensorBoard itself shows the curves of a run in a bucket and of a run in a directory, also those that
come while it serves; it ends with the command.

    tensorboard_test.py PIPE FAKE_GCS ENVIRONMENT
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "plugins/train/python")]

from fake_buckets import BUCKET, FakeBucket  # noqa: E402
from pipe_trainer.run.tensorboard import Writer  # noqa: E402

PIPE, FAKE, ENVIRONMENT = (str(Path(word).absolute()) for word in sys.argv[1:4])
PAGE = "plugins/train/README.md"
FILE = """pipe: 1
name: curves
vars: { out: models }
stages:
  source: { type: download, url: text.txt }
  lines: { type: decompress, input: source }
  docs: { type: split, input: lines, splits: { train: rest, validation: 0.1 } }
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: 290, out: out/tokenizer }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 64, out: out/packed }
  train: { type: train, plugin: train, inputs: { data: packed, tokenizer: tokenizer }, config: { preset: tiny }, steps: 4, out: "${out}" }
"""
WAIT = 60  # seconds; the curves are looked for every 10 s, and TensorBoard looks every 5 s


def check(good, what):
    if not good:
        raise SystemExit(f"tensorboard_test.py: {what}")


def segment(steps, first=1):
    """The bytes of an event file with a loss at each of these steps."""
    with tempfile.TemporaryDirectory() as directory:
        writer = Writer(Path(directory), first)
        for step in steps:
            writer.scalar("train/loss", step, 1 / step)
        writer.close()
        (file,) = Path(directory).iterdir()
        return file.read_bytes()


def ended(place, *words, code):
    done = subprocess.run([PIPE, "tensorboard", *words, "--environment", ENVIRONMENT], cwd=place, capture_output=True, text=True,
                          timeout=60)
    check(done.returncode == code, f"{words}: exit {done.returncode} instead of {code}: {done.stdout}{done.stderr}")
    return done.stderr


class Served:
    """The command while it serves."""

    def __init__(self, place, *words):
        self.process = subprocess.Popen([PIPE, "tensorboard", *words, "--environment", ENVIRONMENT], cwd=place, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.told = self.process.stdout.readline()
        found = re.match(r"(http://localhost:\d+/) shows the curves of (\d+) runs?, and of those that begin; Ctrl-C ends it\n",
                         self.told)
        check(found, f"no address: {self.told!r} {'' if self.told else self.process.communicate()}")
        self.url, self.runs = found[1], int(found[2])

    def ask(self, path):
        with urllib.request.urlopen(self.url + path, timeout=20) as answer:
            return json.loads(answer.read())

    def curve(self, run):
        """The steps of the loss that TensorBoard shows; none: it does not show the run."""
        if run not in self.ask("data/runs"):
            return []
        try:
            found = self.ask(f"data/plugin/scalars/scalars?run={urllib.parse.quote(run)}&tag=train%2Floss")
        except urllib.error.HTTPError:
            return []
        return [(step, round(value, 6)) for _, step, value in found]

    def waits_for(self, run, steps):
        wanted, since = [(step, round(1 / step, 6)) for step in steps], time.monotonic()
        while (found := self.curve(run)) != wanted:
            check(time.monotonic() - since < WAIT, f"{run}: {found} instead of {wanted}; runs {self.ask('data/runs')}")
            time.sleep(0.5)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=30)
        check(self.process.returncode == 130, f"exit {self.process.returncode}: {said}")
        port = int(self.url.rsplit(":", 1)[1].strip("/"))
        with socket.socket() as probe:
            check(probe.connect_ex(("localhost", port)) != 0, "TensorBoard goes on behind the command")


def mistakes(place):
    for words, part in ((("nowhere",), "nowhere: no run: neither job.json nor runs/*/job.json is there"),
                        ((f"gs://{BUCKET}/nothing",), f"gs://{BUCKET}/nothing: no run"),
                        (("nowhere", "--set", "a=b"), "--set: no pipeline file is named"),
                        (("--port", "70000", "nowhere"), "--port: '70000' is no whole number from 0 to 65535"),
                        (("data.yaml",), "data.yaml: has no stage `train`"), (("absent.yaml",), "absent.yaml"),
                        ((), "pipe tensorboard PLACE...")):
        check(part in (said := ended(place, *words, code=2)), f"{words}: {said}")
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = ended(place, "curves.yaml", "--port", str(port), code=1)
        check(f"could not bind to port {port}" in said, said)


def local_run(place, steps):
    """A training that begins, in a directory whose name has spaces."""
    run = place / "my 模型" / "runs" / "train-0123456789abcdef"
    (run / "tensorboard").mkdir(parents=True)
    (run / "tensorboard/events.out.tfevents.1").write_bytes(segment(steps))
    (run / "job.json").write_text("{}")


def main():
    with tempfile.TemporaryDirectory() as directory, FakeBucket(FAKE, Path(directory) / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        place = Path(directory) / "place"
        place.mkdir()
        (place / "curves.yaml").write_text(FILE)
        (place / "text.txt").write_text("吾輩は猫である。\n" * 20)
        (place / "data.yaml").write_text(re.sub(r"(?m)^  train: .*\n", "", FILE))
        mistakes(place)
        run = "models/runs/train-fedcba9876543210"
        bucket.put(BUCKET, f"{run}/job.json", b"{}")
        bucket.put(BUCKET, f"{run}/tensorboard/events.out.tfevents.0000000001", segment(range(1, 6)))
        bucket.put(BUCKET, f"{run}/tensorboard/eval/events.out.tfevents.000000000004.ab.scores", segment([4]))
        bucket.put(BUCKET, f"{run}/checkpoints/4.json", b"{}")
        # The file's own location has no training yet.
        served = Served(place, "curves.yaml", "--set", "out=my 模型", f"gs://{BUCKET}/models/", "--port", "0")
        check(served.runs == 1, served.told)
        served.waits_for("train-fedcba9876543210", range(1, 6))
        served.waits_for("train-fedcba9876543210/eval", [4])
        local_run(place, range(1, 4))
        # Another attempt, which began at step 4 again.
        bucket.put(BUCKET, f"{run}/tensorboard/events.out.tfevents.0000000002", segment(range(4, 9), first=4))
        served.waits_for("train-fedcba9876543210", range(1, 9))
        served.waits_for("train-0123456789abcdef", range(1, 4))
        served.stop()
        copies = [str(path) for path in (place / ".pipe/fetched/curves").rglob("*") if path.is_file()]
        check(len(copies) == 3 and not any("checkpoints" in path for path in copies), copies)
        # A run that is named alone, in a bucket that nobody reaches any more: no curves are shown as if they were all.
        os.environ["STORAGE_EMULATOR_HOST"] = "http://127.0.0.1:1"
        served = Served(place, "my 模型/runs/train-0123456789abcdef", "--port", "0")
        served.waits_for("train-0123456789abcdef", range(1, 4))
        served.stop()
    print("curves of a bucket and of a directory, and of a training that began later")


if __name__ == "__main__":
    main()
