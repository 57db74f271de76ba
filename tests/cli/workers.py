#!/usr/bin/env python3
"""Worker processes alone make the same bytes as one run, whatever kills them.

    workers.py PIPE kills     two at a time, killed at commit points and from outside, some of them twins
    workers.py PIPE cuts      the same with large inputs, whose partitions are units
    workers.py PIPE answers   exit codes of a worker for units that are done, unknown, damaged
    workers.py PIPE elsewhere workers and plans whose work directories are different ones

A plan is made and its units run in any order until each has ended well; this is repeated until a plan has 0 units.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pipe_run import Run, corpus, differences, fail, write_corpora

FILE = """\
pipe: 1
name: shared
vars: {{ out: "" }}
limits: {{ memory: 1GiB }}
stages:
  source: {{ type: download, url: [{urls}] }}
  lines: {{ type: decompress, input: source, partition: 48KiB, max_record_bytes: 64KiB }}
  clean: {{ type: normalize, input: lines, form: nfkc }}
  docs: {{ type: split, input: clean, splits: {{ train: rest, validation: 0.2 }} }}
  text: {{ type: write_tfds, input: docs, name: shuffled, version: 1.0.0, shards: 3, out: "${{out}}" }}
  again: {{ type: write_tfds, input: docs, name: in_order, version: 1.0.0, shuffle: none, out: "${{out}}" }}
"""
# The commit points of a worker; the others are those of `pipe plan`.
POINTS = ("object.written", "object.synced", "object.visible", "partition.committed", "partition.logged",
          "input.ended", "shard.committed", "shard.logged")
DONE, TRY_AGAIN, USAGE, NO_INPUT, CONFIG, KILLED = 0, 75, 64, 66, 78, -9
MOST_ROUNDS = 20
LEAST_KILLS = 15


class Shared(Run):
    """A run by workers."""

    def __init__(self, program, root, pipeline):
        super().__init__(program, root, pipeline)
        self.package = root / "package"
        self.kills = Counter()

    def call(self, *words, kill_at=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
        if kill_at:
            environment["PIPE_KILL_AT"] = kill_at
        with open(self.root / "messages", "ab") as messages:
            return subprocess.Popen([self.program, *map(str, words)], env=environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=messages)

    def plan(self, *options):
        """The units that can run now."""
        planned = self.call("plan", self.file, "-o", self.package, "--work", self.work, "--set", f"out={self.out}",
                            *options)
        told = planned.communicate(timeout=100)[0].decode()
        if planned.returncode != 0:
            fail(f"`pipe plan` ended with {planned.returncode}", self)
        units = [unit["unit"] for unit in json.loads((self.package / "plan.json").read_text())["units"]]
        if int(told) != len(units):
            fail(f"`pipe plan` said {told.strip()} and wrote {len(units)} units", self)
        return units

    def worker(self, unit, kill_at=None):
        return self.call("worker", "--plan", self.package, "--unit", unit, "--scratch", self.root, "-j", "1",
                         kill_at=kill_at)

    def records(self):
        """What the next plan takes in; the history stays."""
        return [path for path in self.package.rglob("*.json")
                if path.parent != self.package and not path.is_relative_to(self.package / "history")]

    def work_off(self, units, chance):
        """Runs all units, two at a time, in any order, each until it has ended well."""
        left = [*units]
        chance.shuffle(left)
        running = {}
        first = True
        while left or running:
            while left and len(running) < 2:
                unit = left.pop()
                twins = 2 if chance.random() < 0.1 and not running else 1
                for _ in range(twins):
                    point = f"{chance.choice(POINTS)}:{chance.randrange(1, 3)}" if chance.random() < 0.5 else None
                    running[self.worker(unit, point)] = (unit, point)
            process, (unit, point) = next(iter(running.items()))
            # Most workers take longer than this patience; such a worker is killed wherever it is.
            patience = 0 if first else chance.uniform(0, 0.05) if chance.random() < 0.25 else 100
            first = False
            try:
                process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=100)
            process.stdout.close()
            del running[process]
            if process.returncode == KILLED:
                self.kills[point.split(":")[0] if point else "outside"] += 1
            elif process.returncode not in (DONE, TRY_AGAIN):
                fail(f"worker {unit} ended with {process.returncode}", self)
            if process.returncode != DONE and unit not in [other for other, _ in running.values()]:
                left.append(unit)


def new_run(kind, program, root, inputs):
    urls = ", ".join(f'"{path}"' for path in inputs)
    return kind(program, root, FILE.format(urls=urls))


def one_run(program, root, inputs, *options):
    """A run of one process, which has ended well."""
    run = new_run(Run, program, root, inputs)
    if run.finish(*options) != 0:
        fail("a run of one process failed", run)
    return run


def kills(program, root):
    inputs = write_corpora(root / "corpora", [corpus(seed=3, size=500_000), corpus(seed=4, size=300_000)], "gzip")
    undisturbed = one_run(program, root / "one", inputs, "-j", "2")
    shared = new_run(Shared, program, root / "many", inputs)
    chance = random.Random(5)
    rounds = []
    while units := shared.plan():
        rounds.append(len(units))
        if len(rounds) > MOST_ROUNDS:
            fail(f"no end after rounds of {rounds}", shared)
        shared.work_off(units, chance)
    found = differences(undisturbed.published(), shared.published())
    if found:
        fail("workers made other bytes than one run: " + "; ".join(found), shared)
    if left := shared.records():
        fail(f"records are left: {left}", shared)
    if not [*shared.work.glob("artifacts/docs-*/*.part")] or not [*shared.work.glob("artifacts/text-*/*.spill")]:
        fail("plans or workers removed intermediates, which another worker may read", shared)
    lines = len(shared.log().lines)
    if shared.finish() != 0 or shared.log().done() == 0 or len(shared.log().lines) > lines + 2:
        fail("`pipe run` found something to do after the workers", shared)
    if left := [path for path in shared.work.glob("artifacts/*/*") if path.is_file()]:
        fail(f"`pipe run` left intermediates of the workers: {left}", shared)
    for artifact in ("shuffled", "in_order"):
        if shared.verify(shared.out / artifact / "1.0.0") != 0:
            fail(f"`pipe verify` finds something in {artifact}", shared)
    if shared.kills.total() < LEAST_KILLS or shared.kills["outside"] < 2:
        fail(f"too few kills: {shared.kills}", shared)
    print(f"rounds of {rounds} units, {shared.kills.total()} kills: "
          + ", ".join(f"{number} {point}" for point, number in shared.kills.most_common()))


def lines_of(run, stage):
    """The lines about finished work of a stage, without the numbers of segments."""
    return sorted((kind, sorted((key, value) for key, value in fields.items() if value and key != "segment"))
                  for kind, fields in run.log().lines
                  if kind in ("done", "end") and fields["unit"].startswith(stage + "/"))


def cuts(program, root):
    """Two large inputs whose partitions are units, and a small one."""
    text = corpus(seed=8, size=400_000) * 88
    inputs = write_corpora(root / "plain", [text], "plain")
    inputs += write_corpora(root / "blocks", [text[1000:]], "xz, quick blocks")
    inputs += write_corpora(root / "small", [text[:100_000]], "plain")
    undisturbed, shared = (new_run(kind, program, root / name, inputs) for kind, name in ((Run, "one"), (Shared, "many")))
    for run in (undisturbed, shared):
        run.file.write_text(run.file.read_text().replace("partition: 48KiB", "partition: 7MiB"))
    if undisturbed.finish("-j", "2") != 0:
        fail("a run of one process failed", undisturbed)
    chance = random.Random(9)
    rounds = []
    while units := shared.plan():
        rounds.append(units)
        shared.work_off(units, chance)
    if rounds[0] != [f"docs/{number:04}-*" for number in range(len(inputs))]:
        fail(f"the first plan has {rounds[0]}", shared)
    parts = [unit for unit in rounds[1] if unit.startswith("docs/")]
    if parts != [f"docs/{number:04}-{partition:05}" for number in range(2) for partition in range(6)]:
        fail(f"the second plan has {rounds[1]}", shared)
    found = differences(undisturbed.published(), shared.published())
    if found:
        fail("workers made other bytes than one run: " + "; ".join(found), shared)
    if lines_of(undisturbed, "docs") != lines_of(shared, "docs"):
        fail("the lines of the logs differ", shared)
    if left := shared.records():
        fail(f"records are left: {left}", shared)
    print(f"rounds of {[len(units) for units in rounds]} units, {shared.kills.total()} kills")


def expect(shared, unit, code, text=""):
    process = shared.worker(unit)
    process.communicate(timeout=100)
    if process.returncode != code or text not in shared.messages():
        fail(f"worker {unit} ended with {process.returncode}, expected {code} and {text!r}", shared)


def answers(program, root):
    inputs = write_corpora(root / "corpora", [corpus(seed=6, size=300_000)], "plain")
    shared = new_run(Shared, program, root / "run", inputs)
    expect(shared, "docs/0000-*", USAGE)  # there is no work package
    units = shared.plan()
    if units != ["docs/0000-*"]:
        fail(f"the first plan has {units}", shared)
    expect(shared, "docs/0000-*", DONE)
    expect(shared, "docs/0000-*", DONE)  # from its records alone
    expect(shared, "docs/0000-00000", DONE)
    expect(shared, "docs/0000-99999", USAGE, "no such unit")
    expect(shared, "dcos/0000-*", USAGE)
    expect(shared, "docs", USAGE)
    units = shared.plan()
    if "text/0000-00001" not in units or "again/0000-00001" not in units:
        fail(f"the second plan has {units}", shared)
    expect(shared, "docs/0000-*", DONE)  # from the log
    output = next(shared.work.glob("artifacts/docs-*/0000-00001.part"))
    data = bytearray(output.read_bytes())
    data[len(data) // 2] ^= 0x20
    output.write_bytes(data)
    expect(shared, "text/0000-00001", NO_INPUT, "plan again")
    expect(shared, "text/0000-00000", DONE)
    units = shared.plan()
    if "docs/0000-*" not in units or "text/0000-00001" in units:
        fail(f"with a damaged partition the plan has {units}", shared)
    # `pipe run` takes over the workers' outputs, and does the rest itself.
    expect(shared, "docs/0000-*", DONE)
    before = shared.log().done("docs/0000-00001")
    if shared.finish("-j", "2") != 0 or shared.log().done("docs/0000-00001") != before + 1:
        fail("`pipe run` did not go on from what workers did", shared)
    if shared.plan():
        fail("after `pipe run` there is something to hand out", shared)
    # The source is edited between a plan and its worker: the worker must not use the old digest.
    shared.file.write_text(shared.file.read_text().replace("1.0.0", "1.0.1").replace("nfkc", "nfc"))
    units = shared.plan()
    inputs[0].write_bytes(inputs[0].read_bytes() + "あと\n".encode())
    process = shared.worker(units[0])
    process.communicate(timeout=100)
    if process.returncode != NO_INPUT or "was changed since the plan" not in shared.messages():
        fail(f"with an edited source the worker ended with {process.returncode}", shared)
    print("as designed")


def plan_ends(shared, code, *texts):
    before = len(shared.messages())
    planned = shared.call("plan", shared.file, "-o", shared.package, "--work", shared.work,
                          "--set", f"out={shared.out}")
    planned.communicate(timeout=100)
    said = shared.messages()[before:]
    if planned.returncode != code or not all(text in said for text in texts):
        fail(f"`pipe plan` ended with {planned.returncode}, expected {code} and {texts}:\n{said}", shared)


def elsewhere(program, root):
    """The path of the work directory leads to another directory, as on a machine that does not share it."""
    inputs = write_corpora(root / "corpora", [corpus(seed=7, size=200_000)], "plain")
    shared = new_run(Shared, program, root / "run", inputs)
    units = shared.plan()
    own, other = shared.work.with_name("own"), shared.work.with_name("other")

    def swap(away, here):
        shared.work.rename(away)
        here.rename(shared.work)

    other.mkdir()
    swap(own, other)
    expect(shared, units[0], CONFIG, "is not the work directory of the plan: its file `holder` is not there")
    (shared.work / "holder").write_text("0" * 32)
    expect(shared, units[0], CONFIG, "its file `holder` names another one")
    if left := [path for path in shared.work.rglob("*") if path.name != "holder"]:
        fail(f"a refused worker left {left}", shared)
    # A plan of an earlier version has no `holder`: the worker runs, and the next plan finds that its output is missing.
    plan = shared.package / "plan.json"
    text = json.loads(plan.read_text())
    del text["holder"]
    plan.write_text(json.dumps(text))
    expect(shared, units[0], DONE)
    swap(other, own)
    records = sorted(shared.package.rglob("done/**/*.json"))
    for _ in range(2):
        plan_ends(shared, 2, "docs/0000-00000: a worker finished it, but its output is not here: ", str(shared.work), "/done")
    if sorted(shared.package.rglob("done/**/*.json")) != records:
        fail("records were taken back", shared)
    # Its outputs are copied here: the work counts.
    shutil.copytree(other / "artifacts", shared.work / "artifacts", dirs_exist_ok=True)
    if units[0] in (more := shared.plan()) or not more:
        fail(f"after bringing the pieces the plan has {more}", shared)
    # A shard that is missing at its location, as if `out` is a directory of another machine.
    while not any("-of-" in unit for unit in more):
        for unit in more:
            expect(shared, unit, DONE)
        more = shared.plan()
    unit = next(unit for unit in more if "-of-" in unit)
    expect(shared, unit, DONE)
    shared.out.rename(shared.out.with_name("out-elsewhere"))
    plan_ends(shared, 2, f"{unit}: a worker finished it, but its output is not here: ")
    shutil.rmtree(shared.package / "done")
    if unit not in shared.plan():
        fail("without the record the unit is not handed out again", shared)
    print("as designed")


def main():
    program, part = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as root:
        {"kills": kills, "cuts": cuts, "answers": answers, "elsewhere": elsewhere}[part](program, Path(root))


if __name__ == "__main__":
    main()
