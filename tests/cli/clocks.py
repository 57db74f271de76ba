#!/usr/bin/env python3
"""Workers whose clocks are apart by minutes, and step back, make the same bytes as one run, and end.

    clocks.py PIPE FAKE_GCS OTHER_CLOCK.so

Three workers, seven minutes behind, right, and seven minutes ahead; the last one is killed on its way and started again.
The work package is in a directory, then the whole run in a bucket.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fake_buckets import BUCKET, FakeBucket
from pipe_run import Run, corpus, differences, hold, write_corpora
from workers import new_run

APART = 7 * 60  # seconds
KILLED = -9
MOST = 60  # seconds in which the run ends: it takes two or three


class Apart(Run):
    """A run on machines with clocks of their own."""

    def __init__(self, program, root, pipeline, shim, home, environment):
        super().__init__(program, root, pipeline)
        self.shim, self.environment = shim, environment
        self.work = home or str(self.work)
        self.package = f"{self.work}/package"

    def messages(self):
        return (self.root / "messages").read_text() if (self.root / "messages").exists() else ""

    def show(self, command, *words):
        done = subprocess.run([self.program, command, str(self.file), "--work", self.work, "--set", f"out={self.out}",
                               "--scratch", str(self.root / "scratch"), *words], env={**os.environ, **self.environment},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MOST, check=False)
        hold(done.returncode == 0, self, f"`pipe {command}` ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def worker(self, name, ahead, step=0, kill_at=None):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PIPE_")}
        environment |= {**self.environment, "PIPE_LEASE": "0.2", "LD_PRELOAD": str(self.shim),
                        "OTHER_CLOCK_AHEAD": str(ahead), "OTHER_CLOCK_STEP": str(step), "OTHER_CLOCK_HOST": name}
        if kill_at:
            environment["PIPE_KILL_AT"] = kill_at
        scratch = self.root / name
        scratch.mkdir(exist_ok=True)
        with open(self.root / "messages", "ab") as messages:
            return subprocess.Popen([self.program, "worker", "--plan", self.package, "--next", "-j", "1", "--scratch",
                                     str(scratch)], env=environment, stdin=subprocess.DEVNULL, stdout=messages,
                                    stderr=messages)


def check(alone, run):
    began = time.time()
    run.show("plan", "-o", run.package)
    # The one that will be killed has the queue for itself until then, so it is killed for certain.
    killed = run.worker("ahead", APART, kill_at="partition.logged:2")
    hold(killed.wait(timeout=MOST) == KILLED, run, f"the worker was not killed: {killed.returncode}")
    workers = [run.worker("behind", -APART, step=90), run.worker("right", 0), run.worker("ahead", APART, step=90)]
    try:
        codes = [worker.wait(timeout=MOST) for worker in workers]
    except subprocess.TimeoutExpired:
        for worker in workers:
            worker.kill()
        hold(False, run, "workers with clocks that are apart do not end")
    hold(codes == [0, 0, 0], run, f"workers ended with {codes}")
    found = differences(alone.published(), run.published())
    hold(not found, run, "workers with clocks that are apart made other bytes: " + "; ".join(found))
    lasted = time.time() - began
    listed = json.loads(run.show("runs", "--json"))
    hold(len(listed) == 1 and listed[0]["outcome"] == "done" and listed[0]["seconds"] <= lasted + 1, run,
         f"after {lasted:.1f} s `pipe runs` tells {listed}")
    told = json.loads(run.show("status", "--json"))
    hosts = {host["host"]: host for host in told["workers"]["hosts"]}
    # A worker that starts late may find nothing left.
    hold(told["last_run"]["outcome"] == "done" and {"ahead"} <= set(hosts) <= {"ahead", "behind", "right"}, run,
         f"`pipe status` tells {told}")
    hold(Path(run.show("report").strip()).exists(), run, "there is no report")
    print(f"ok: {run.work}: " + ", ".join(f"{host['units']} units {name}" for name, host in hosts.items()))


def main():
    program, fake, shim = (Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        inputs = write_corpora(root / "corpora", [corpus(seed=3, size=600_000), corpus(seed=4, size=300_000)], "gzip")
        alone = new_run(Run, program, root / "alone", inputs)
        hold(alone.finish() == 0, alone, "the run of one process failed")

        def apart(name, home, environment):
            return new_run(lambda *words: Apart(*words, shim, home, environment), program, root / name, inputs)

        check(alone, apart("directory", "", {}))
        with FakeBucket(fake, root / "buckets") as bucket:
            check(alone, apart("bucket", f"gs://{BUCKET}/run", bucket.emulator()))


if __name__ == "__main__":
    main()
