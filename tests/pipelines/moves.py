#!/usr/bin/env python3
"""The shipped pipeline for CC-100, from a bad server into a bad bucket, on machines that are lost.

    moves.py PIPE FAKE_GCS TRAINER_ENVIRONMENT [--corpus FILE.xz] [--set NAME=VALUE]...

Each machine has a work directory of its own. The first is killed; the second finishes its work; the third finds nothing
to do; the fourth makes one missing shard; the last continues the training. Objects in the bucket are never written
again, and the logs show that nothing unnecessary is made.
"""

import argparse
import lzma
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from bucket_out import rewritten  # noqa: E402
from fake_buckets import FakeBucket  # noqa: E402
from pipe_run import Run, corpus, hold  # noqa: E402
from web_server import WebServer  # noqa: E402

FILE = Path(__file__).resolve().parents[2] / "pipelines/cc100_ja.yaml"
OUT = "gs://shelf/ja"
PATIENCE = 3600  # seconds for one run


class Machine(Run):
    def __init__(self, arguments, root, name, settings):
        super().__init__(arguments.pipe, root / name, FILE.read_text(encoding="utf-8"))
        self.out, self.settings = OUT, settings

    def start(self, *options, kill_at=None):
        return super().start(*self.settings, *options, kill_at=kill_at)

    def stages_run(self):
        """{stage: number of finished units}; outputs found in the bucket have a log line, too."""
        done = {}
        for kind, fields in self.log().lines:
            if kind == "done":
                stage = fields["unit"].split("/")[0]
                done[stage] = done.get(stage, 0) + 1
        return done


def settings_of(arguments, server):
    settings = {"corpus": server.url, "preset": "tiny", "steps": 20, "stages.train.environment": arguments.trainer}
    settings.update(word.split("=", 1) for word in arguments.set)
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


class Story:
    def __init__(self, arguments, root, bucket, server):
        self.arguments, self.root, self.bucket, self.server = arguments, root, bucket, server
        self.settings, self.before, self.began = settings_of(arguments, server), {}, time.monotonic()

    def machine(self, name):
        return Machine(self.arguments, self.root, name, self.settings)

    def nothing_rewritten(self, run):
        now = self.bucket.objects()
        found = [name for name in rewritten(self.before, now) if "/runs/" not in name]
        hold(not found, run, f"written again: {found}")
        self.before = now

    def tell(self, what):
        print(f"ok: {what} ({time.monotonic() - self.began:.0f} s)", flush=True)

    def is_killed(self):
        run = self.machine("first")
        # The fourth shard of all: some are logged, and some are missing.
        code = run.finish(kill_at="shard.logged:4", patience=PATIENCE)
        hold(code == -9, run, f"exit {code}")
        self.before = self.bucket.objects()
        self.tell(f"killed with {len(self.before)} objects in the bucket; units done: {run.stages_run()}")

    def goes_on_elsewhere(self):
        run = self.machine("second")
        hold(run.finish(patience=PATIENCE) == 0, run, "failed")
        self.nothing_rewritten(run)
        locations = [f"{OUT}/tokenizer", f"{OUT}/packed", f"{OUT}/cc100_ja/1.1.0"]
        for location in locations:
            hold(run.verify(location) == 0, run, f"{location} does not verify")
        self.tell(f"ended elsewhere, verified {len(locations)} artifacts; units done: {run.stages_run()}")

    def finds_nothing_to_do(self):
        run = self.machine("third")
        hold(run.finish(patience=PATIENCE) == 0 and "nothing to do" in run.messages() and not run.stages_run(), run,
             f"made something: {run.stages_run()}")
        self.nothing_rewritten(run)
        self.tell("a third machine has nothing to do")

    def makes_what_is_missing(self):
        name = next(name for name in self.before if "/cc100_ja/1.1.0/" in name and "-validation.tfrecord" in name)
        self.bucket.remove(name)
        lost = self.before.pop(name)
        run = self.machine("fourth")
        hold(run.finish(patience=PATIENCE) == 0, run, "failed")
        self.nothing_rewritten(run)
        hold(self.before[name][1] == lost[1], run, f"{name}: other bytes")
        units = run.stages_run()
        hold(units.keys() <= {"docs", "text"}, run, f"made what nobody needs: {units}")
        self.tell(f"a lost shard was made again; units done: {units}")

    def trains_on(self):
        run = self.machine("last")
        hold(run.finish("--only", "train", "--set", "steps=30", patience=PATIENCE) == 0, run, "failed")
        self.nothing_rewritten(run)
        hold(run.stages_run() == {"train": 1}, run, f"more than the training ran: {run.stages_run()}")
        self.tell(f"trained on elsewhere; units done: {run.stages_run()}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("pipe", "fake_gcs", "trainer"):
        parser.add_argument(name, type=lambda word: Path(word).absolute())
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    packed = arguments.corpus.read_bytes() if arguments.corpus else lzma.compress(corpus(17, 1_500_000), preset=1)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        server = WebServer(packed, break_every=len(packed) // 5, rate=len(packed) // 3)
        with FakeBucket(arguments.fake_gcs, root / "bucket", "--seed", "7", "--rate", "0.02") as bucket:
            os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
            story = Story(arguments, root, bucket, server)
            story.is_killed()
            story.goes_on_elsewhere()
            story.finds_nothing_to_do()
            story.makes_what_is_missing()
            story.trains_on()
        print(bucket.told)


if __name__ == "__main__":
    main()
