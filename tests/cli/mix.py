#!/usr/bin/env python3
"""Several corpora as one: the output of the stage `mix`, the same after kills and with workers, and not made twice.

    mix.py PIPE
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pipe_run import Run, corpus, differences, fail
from scenarios import play, scenario

KEEPING = "--keep-intermediates"

FILE = """\
pipe: 1
name: mixed
vars: { out: "", a: "", b: "", weights_b: 1 }
stages:
  file_a: { type: download, url: "${a}" }
  file_b: { type: download, url: "${b}" }
  lines_a: { type: decompress, input: file_a, partition: 64KiB }
  lines_b: { type: decompress, input: file_b, partition: 64KiB }
  docs_a: { type: split, input: lines_a, splits: { train: rest, validation: 0.1 } }
  docs_b: { type: split, input: lines_b, splits: { train: rest, validation: 0.1 } }
  mixed: { type: mix, corpora: [docs_a, docs_b], weights: [1, "${weights_b}"], epochs: [1, 2.5], partition: 64KiB }
  text: { type: write_tfds, input: mixed, name: mixed, version: 1.0.0, shards: 3, out: "${out}" }
"""


class Scenarios:

    def __init__(self, program, root):
        self.program, self.root = program, root
        for name, seed, size in (("a", 31, 700_000), ("b", 32, 300_000)):
            (root / name).write_bytes(corpus(seed, size))
        self.options = ("--set", f"a={root / 'a'}", "--set", f"b={root / 'b'}")
        self.whole = self.run("whole")
        self.end(self.whole, KEEPING)
        self.wanted = self.whole.published()

    def run(self, name):
        return Run(self.program, self.root / name, FILE)

    def end(self, run, *options):
        if run.finish(*self.options, *options) != 0:
            fail("did not end well", run)

    def same(self, run, what):
        if wrong := differences(self.wanted, run.published()):
            fail(f"{what}: {wrong}", run)

    @scenario
    def any_way(self):
        run = self.run("slowly")
        self.end(run, "-j1", "--batch-bytes=1500")
        self.same(run, "one thread, small batches")

    @scenario
    def through_kills(self):
        run, kills = self.run("kills"), 0
        for point in ("partition.committed", "partition.logged", "input.ended", "shard.logged", "manifest.committed") * 2:
            kills += run.finish(*self.options, kill_at=point) == -9
        self.end(run)
        self.same(run, f"{kills} kills")

    @scenario
    def by_workers(self):
        run, package = self.run("workers"), self.root / "plan"
        rounds = 0
        while True:
            planned = subprocess.run([self.program, "plan", str(run.file), "-o", str(package), "--work", str(run.work),
                                      "--set", f"out={run.out}", *self.options], capture_output=True, timeout=100,
                                     check=True, text=True)
            if planned.stdout.strip() == "0":
                break
            rounds += 1
            if rounds > 10:
                fail(f"plans go on and on: {planned.stderr[-3000:]}")
            for unit in json.loads((package / "plan.json").read_text(encoding="utf-8"))["units"]:
                subprocess.run([self.program, "worker", "--plan", str(package), "--unit", unit["unit"], "--scratch",
                                str(self.root)], timeout=100, check=True, capture_output=True)
        self.same(run, f"workers, {rounds} plans")

    @scenario
    def complete_outputs_are_not_made_again(self):
        run = self.whole
        before = run.log().done()
        shard = next((run.out / "mixed/1.0.0").glob("*train*-00001-of*"))
        shard.unlink()
        for directory in (run.work / "artifacts").glob("docs_*"):
            shutil.rmtree(directory)  # the corpora: no stage reads them if the mixture exists
        self.end(run, KEEPING)
        self.same(run, "one shard made again")
        if run.log().done() != before + 1:
            fail(f"{run.log().done() - before} units for one shard", run)

    @scenario
    def other_shares_read_the_corpora_alone(self):
        run = self.run("shares")
        self.end(run, KEEPING)
        before = {name: run.log().done(name) for name in ("docs_a", "docs_b")}
        self.end(run, "--set", "weights_b=2", "--force", "text")
        after = {name: run.log().done(name) for name in ("docs_a", "docs_b")}
        if before != after:
            fail(f"the corpora were made again: {before} {after}", run)
        if not differences(self.wanted, run.published()):
            fail("other weights, the same bytes", run)

    @scenario
    def a_damaged_partition_of_a_corpus_is_made_again(self):
        run, undamaged = self.run("damaged"), self.run("undamaged")
        self.end(run, KEEPING)
        self.end(undamaged, "--set", "weights_b=2")
        parts = [next((run.work / "artifacts").glob(f"{name}-*")) / "0000-00001.part" for name in ("docs_a", "docs_b")]
        made = run.log().done("docs_a"), run.log().done("docs_b")
        for part in parts:
            data = bytearray(part.read_bytes())
            data[len(data) // 2] ^= 1
            part.write_bytes(data)
        self.end(run, "--set", "weights_b=2", "--force", "text")
        again = run.log().done("docs_a") - made[0], run.log().done("docs_b") - made[1]
        if again != (1, 1) or run.messages().count("will be made again") != 2:
            fail(f"made again: {again}", run)
        if differences(undamaged.published(), run.published()):
            fail("made again, and other bytes", run)


def main(program):
    with tempfile.TemporaryDirectory() as directory:
        play(Scenarios(program, Path(directory)))


if __name__ == "__main__":
    main(sys.argv[1])
