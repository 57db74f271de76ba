#!/usr/bin/env python3
"""Two machines that share `out` on a network file system: both get locks, listings are 3 s old, and a rename may report
a failure though it happened (other_host.cc).

    two_hosts.py PIPE OTHER_HOST.so [ROUNDS [SEED]]

Both live: one wins, the other is refused. One is killed: the other takes over and finishes, or is refused because the
first one has published, and the first one finishes. One is suspended for longer than its lease, then continues: the
other's bytes stay, and the first one's error says what it lost."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from pipe_run import Run, corpus, hold
from rivals import RECIPES, winner

LEASE = 0.3  # seconds


def pipeline(recipe, source):
    """Both recipes make objects with the same names."""
    return f"""\
pipe: 1
name: {recipe}
vars: {{ out: "" }}
stages:
  source: {{ type: download, url: "{source}" }}
  lines: {{ type: decompress, input: source, partition: 256KiB }}
  docs: {{ type: split, input: lines, splits: {{ train: rest, validation: 0.1 }} }}
  text: {{ type: write_tfds, input: docs, name: text, version: 1.0.0, shards: 9,
          shuffle: {{ seed: {RECIPES.index(recipe) + 7} }}, out: "${{out}}" }}
"""


class Machines:
    def __init__(self, program, shim, root, seed):
        self.program, self.shim, self.root = program, shim, root
        self.chance = random.Random(seed)
        self.source = root / "corpus.txt"
        self.source.write_bytes(corpus(seed, 6 << 20))
        self.alone, self.seconds = {}, 0.0
        for recipe in RECIPES:
            run = self.run("alone", recipe)
            began = time.monotonic()
            hold(self.start(run, str(self.root / "nowhere")).wait(timeout=100) == 0, run, "alone it did not end well")
            self.seconds = max(self.seconds, time.monotonic() - began)
            self.alone[recipe] = run.published()
            run.out.rename(root / f"alone-{recipe}")

    def run(self, location, recipe):
        run = Run(self.program, self.root / location / recipe, pipeline(recipe, self.source))
        run.out = self.root / location / "out"
        return run

    def start(self, run, shared=None):
        """Starts a run as on a machine named after its recipe."""
        recipe = run.file.parent.name
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
        boot = f"{RECIPES.index(recipe) + 1:08x}-0000-4000-8000-000000000000\n"
        environment.update(PIPE_LEASE=str(LEASE), LD_PRELOAD=str(self.shim), OTHER_HOST_BOOT=boot,
                           OTHER_HOST_ROOT=shared or str(run.out), OTHER_HOST_SEED=str(self.chance.randrange(10**6)))
        with open(run.root / "messages", "ab") as messages:
            return subprocess.Popen([self.program, "run", str(run.file), "--work", str(run.work), "--set",
                                     f"out={run.out}", "-j", "2"], env=environment, stdin=subprocess.DEVNULL,
                                    stdout=messages, stderr=messages)

    def pair(self, location):
        recipes = self.chance.sample(RECIPES, 2)
        return recipes, [self.run(location, recipe) for recipe in recipes]

    def both_live(self, location):
        recipes, runs = self.pair(location)
        first = self.start(runs[0])
        time.sleep(self.chance.uniform(0, 0.5))
        codes = [process.wait(timeout=100) for process in (first, self.start(runs[1]))]
        what = f"{location}, {recipes}: {codes}"
        hold(sorted(codes) == [0, 2], runs[codes[0] in (0, 2)], f"{what}: one has to win, the other to be refused")
        hold(winner(what, self.alone, runs) == recipes[codes.index(0)], runs[0], f"{what}: another won")
        return what

    def one_is_killed(self, location):
        recipes, runs = self.pair(location)
        first = self.start(runs[0])
        time.sleep(self.chance.uniform(0, self.seconds))
        first.kill()
        killed = first.wait(timeout=100) != 0
        code = self.start(runs[1]).wait(timeout=100)
        what = f"{location}, {recipes}, {'killed' if killed else 'done'}: {code}"
        done = "MANIFEST.json" in str(list(runs[0].out.rglob("*")))
        hold(code == 0 or (code == 2 and done), runs[1], f"{what}: did not finish")
        if code == 2:  # the first one may lack the objects that follow its manifest
            hold(self.continues(runs[0]), runs[0], f"{what}: the first one does not continue")
        hold(winner(what, self.alone, runs) == recipes[0 if code == 2 else 1], runs[0], f"{what}: another won")
        return what

    def continues(self, run):
        """Runs again for as long as listings lack the manifest, which refuses the run."""
        deadline = time.monotonic() + 60
        while (code := self.start(run).wait(timeout=100)) == 2 and time.monotonic() < deadline:
            pass
        return code == 0

    def one_is_held_up(self, location):
        recipes, runs = self.pair(location)
        first = self.start(runs[0])
        time.sleep(self.chance.uniform(self.seconds / 4, self.seconds))
        first.send_signal(signal.SIGSTOP)
        second = self.start(runs[1])
        time.sleep(4 * LEASE + self.chance.uniform(0, 1.5 * self.seconds))
        first.send_signal(signal.SIGCONT)
        codes = [process.wait(timeout=100) for process in (first, second)]
        what = f"{location}, {recipes}: {codes}"
        hold(codes in ([0, 2], [1, 0], [2, 0], [1, 2]), runs[0], f"{what}: no such ends are possible")
        if codes != [1, 2]:
            hold(winner(what, self.alone, runs) == recipes[codes.index(0)], runs[0], f"{what}: another won")
        return what


def main(program, shim, rounds=6, seed=1):
    with tempfile.TemporaryDirectory(prefix="two-hosts-") as directory:
        machines = Machines(program, pathlib.Path(shim).resolve(), pathlib.Path(directory), seed)
        for number in range(rounds):
            what = (machines.both_live, machines.one_is_killed, machines.one_is_held_up)[number % 3]
            print(what(f"{number}-{what.__name__}"), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
