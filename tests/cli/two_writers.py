#!/usr/bin/env python3
"""Two runs into one `out`, with two work directories and two recipes, started less than a second apart:

    two_writers.py PIPE [STARTS [SEED]]

One publishes the same files as a run alone, the other ends with 2 and the reason. In half of the starts one of
them is killed at some moment: the next run, from any work directory, does not wait and finishes."""

import pathlib
import random
import signal
import sys
import tempfile
import time

from pipe_run import Run, corpus, differences, hold
from rivals import RECIPES, winner

REASONS = ("is writing there", "holds another recipe", "has published or removed")


def pipeline(recipe, source, threads):
    """Both recipes make shards with the same names."""
    return f"""\
pipe: 1
name: {recipe}
vars: {{ out: "" }}
stages:
  source: {{ type: download, url: "{source}" }}
  lines: {{ type: decompress, input: source, partition: 256KiB }}
  clean: {{ type: normalize, input: lines, form: nfkc }}
  docs: {{ type: split, input: clean, splits: {{ train: rest, validation: 0.1 }} }}
  text: {{ type: write_tfds, input: docs, name: text, version: 1.0.0, shards: {6 if threads == 1 else 9},
          shuffle: {{ seed: {RECIPES.index(recipe) + 7} }}, out: "${{out}}" }}
"""


class Duel:
    """The files that each recipe publishes alone with so many threads, and runs of both into one location."""

    def __init__(self, program, root, source, threads):
        self.program, self.root, self.source, self.threads = program, root, source, threads
        self.alone, self.seconds = {}, 0.0
        for recipe in RECIPES:
            run = self.run(f"alone-{recipe}", recipe)
            began = time.monotonic()
            hold(self.start(run).wait(timeout=100) == 0, run, f"{recipe} alone did not end well")
            self.seconds = max(self.seconds, time.monotonic() - began)
            self.alone[recipe] = run.published()
        hold(differences(*self.alone.values()), run, "both recipes publish the same")

    def run(self, location, recipe, work="work"):
        run = Run(self.program, self.root / location / f"{recipe}-{work}", pipeline(recipe, self.source, self.threads))
        run.out = self.root / location / "out"
        return run

    def start(self, run):
        return run.start("-j", str(self.threads))

    def fight(self, number, chance, kills):
        """Starts both once; returns a description for people."""
        recipes = chance.sample(RECIPES, 2)
        delay = chance.uniform(0, 0.8)
        what = f"-j {self.threads}, start {number}: {' and '.join(recipes)} {delay:.2f} s apart"
        location = f"{number}-{'kill' if kills else 'both'}"
        runs = [self.run(location, recipe) for recipe in recipes]
        processes = [self.start(runs[0])]
        time.sleep(delay)
        processes.append(self.start(runs[1]))
        if kills:
            time.sleep(chance.uniform(0, self.seconds))
            for process in processes:
                if process.poll() is None:  # one that writes, or does not wait
                    process.send_signal(signal.SIGKILL)
                    break
        codes = [process.wait(timeout=100) for process in processes]
        what = f"{what}: {codes}"
        if not kills:
            hold(sorted(codes) == [0, 2], runs[codes[0] == 0],
                 f"{what}: one has to win, the other to be refused")
        for run, code in zip(runs, codes):
            hold(code in ((0, 2, -9) if kills else (0, 2)), run, f"{what}: ended otherwise")
            hold(code != 2 or any(reason in run.messages() for reason in REASONS), run, f"{what}: no reason is said")
        hold(codes.count(0) < 2, runs[0], f"{what}: two winners")
        if 0 in codes:
            won = winner(what, self.alone, runs)
            hold(won == recipes[codes.index(0)], runs[0], f"{what}: the artifact is that of {won}")
            return f"{what}: {won} won"
        return self.go_on(what, location, recipes, runs, chance)

    def go_on(self, what, location, recipes, runs, chance):
        """The next run after a kill that left no finished run."""
        manifest = any(runs[0].out.rglob("MANIFEST.json"))
        recipe = chance.choice(recipes)
        own = chance.random() < 0.5
        following = runs[recipes.index(recipe)] if own else self.run(location, recipe, "elsewhere")
        code = self.start(following).wait(timeout=100)
        what = f"{what}, then {following.file.parent.name}: {code}"
        # Killed after its manifest: the other recipe may not replace the published artifact.
        hold(code == 0 or (code == 2 and manifest), following, f"{what}: has to finish")
        hold("waiting for up to" not in following.messages(), following, f"{what}: waited on its own machine")
        if code == 2:
            following = runs[recipes.index(recipe) ^ 1]
            hold(self.start(following).wait(timeout=100) == 0, following, f"{what}: has to finish")
        return f"{what}: {winner(what, self.alone, [following, *runs])} finished"


def main(program, starts=20, seed=1):
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="two-writers-") as directory:
        root = pathlib.Path(directory)
        source = root / "corpus.txt"
        source.write_bytes(corpus(seed, 8 << 20))
        duels = [Duel(program, root / f"j{threads}", source, threads) for threads in (1, 2)]
        for number in range(starts):
            print(duels[number % 2].fight(number, chance, kills=number % 4 > 1), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
