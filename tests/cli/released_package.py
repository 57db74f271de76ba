#!/usr/bin/env python3
"""A work package that an earlier version planned and whose workers were killed is continued by this one.

    released_package.py PIPE               continues the work of each tests/golden/NAME/package.tar.xz
    released_package.py PIPE make NAME     makes tests/golden/NAME/package.tar.xz by the program of a release

The archive has a pipeline file, its corpora, the work directory, the work package and the shards that are there. `make`
leaves an input that is half read, records that no plan has taken yet, and units that nobody has begun. The plan names
the directory where it was made: that is another one in each test. If a stage has another version now, or a library on
this machine has, this program makes other recipes than the plan asks for: then workers must refuse its units.
"""

import json
import lzma
import shutil
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from released_work import GOLDEN, Sandbox, finished, sentences, write_archive
from replan_support import tree
from scenarios import check, play, scenario

FILE = """\
pipe: 1
name: released
stages:
  source: { type: download, url: [first.txt.xz, second.txt] }
  lines: { type: decompress, input: source, partition: 2KiB, max_record_bytes: 4KiB, invalid_utf8: quarantine }
  good: { type: filter, input: lines, max_run: 40 }
  docs: { type: split, input: good, splits: { train: rest, validation: 0.25 } }
  rows: { type: write_jsonl, input: docs, unit: document, shards: 3, out: out/rows }
  text: { type: write_tfds, input: docs, name: near, version: 1.0.0, shards: 3, out: out }
  pick: { type: sample, input: docs, split: train, bytes: 6KB, partition: 4KiB }
  tokenizer: { type: train_tokenizer, input: pick, vocab_size: 310, max_piece_length: 4, out: out/tokenizer }
"""
ARTIFACTS = ("rows", "near/1.0.0", "tokenizer")
PLACE = "/released"  # stands for the directory where the plan was made
WITH_PLACE = ("package/plan.json", "work/handed-out.txt")
KILLED, DONE, CONFIG = -9, 0, 78
MOST_ROUNDS = 20


def replace_in(path, old, new):
    text = path.read_text()
    check(old in text, f"{path} does not name {old}")
    path.write_text(text.replace(old, new))


class Package(Sandbox):
    """A directory with a pipeline and its work package."""

    def plan(self):
        self.call("plan", "pipeline.yaml", "--work", "work", "-o", "package")
        return self.offered()

    def worker(self, *words, **more):
        return self.call("worker", "--plan", "package", "-j", "1", *words, **more)

    def offered(self):
        """{unit: recipe} of the plan."""
        plan = json.loads((self.root / "package/plan.json").read_text())
        return {unit["unit"]: unit["recipe"] for unit in plan["units"]}

    def recorded(self):
        """The units with a record that no plan has taken."""
        done = self.root / "package/done"
        return {str(path.relative_to(done)).removesuffix(".json") for path in done.rglob("*.json")}


def make(program, name):
    with tempfile.TemporaryDirectory() as directory:
        package = Package(program, Path(directory) / "place")
        package.root.mkdir()
        (package.root / "first.txt.xz").write_bytes(lzma.compress(sentences(1, 8_000)))
        (package.root / "second.txt").write_bytes(sentences(2, 20_000))
        (package.root / "pipeline.yaml").write_text(FILE)
        package.plan()
        package.worker("--unit", "docs/0000-*")
        package.worker("--unit", "docs/0001-*", kill_at="partition.logged:3", wanted=KILLED)
        package.plan()
        package.worker("--unit", "docs/0001-*", kill_at="partition.logged:2", wanted=KILLED)
        others = sorted(set(package.offered()) - {"docs/0001-*"})
        for unit in others[::2]:
            package.worker("--unit", unit)
        package.worker("--unit", others[1], kill_at="object.written:1", wanted=KILLED)
        recorded = package.recorded()
        check(any(unit.startswith("docs/0001-") for unit in recorded) and "docs/0001-*" not in recorded,
              f"the second input is not half read: {sorted(recorded)}")
        check(len(recorded & {*others}) > 1 and {*others} - recorded, f"of {others}, {sorted(recorded)} are done")
        for path in WITH_PLACE:
            replace_in(package.root / path, str(package.root), PLACE)
        write_archive(package.root, name, "package")


class Scenarios:
    """Each continues a copy of the archive in another way, to the bytes of a run from nothing."""

    def __init__(self, program, root, archive):
        self.program, self.root, self.archive = program, root, archive
        whole = self.copy("whole")
        for made in ("work", "out", "package"):
            shutil.rmtree(whole.root / made)
        whole.run(*whole.first_rules(self.copy("left").log()))
        self.wanted = tree(whole.root / "out")
        left = Package(program, root / "left")
        self.offered, self.recorded = left.offered(), left.recorded()
        self.before = finished(left.log()) | self.recorded
        now = left.plan()
        self.renewed = {unit for unit, recipe in self.offered.items() if now.get(unit, recipe) != recipe}
        if self.renewed:
            print(f"other recipes since then: {', '.join(sorted(self.renewed))}")

    def copy(self, name):
        package = Package(self.program, self.root / name)
        with tarfile.open(self.archive) as packed:
            packed.extractall(package.root)
        for path in WITH_PLACE:
            replace_in(package.root / path, PLACE, str(package.root))
        return package

    def anew(self, package):
        """What a person does whose stages have another version."""
        if self.renewed:
            shutil.rmtree(package.root / "out", ignore_errors=True)

    def compare(self, package):
        found = tree(package.root / "out")
        differing = sorted(name for name in {*found, *self.wanted} if found.get(name) != self.wanted.get(name))
        check(not differing, f"other bytes than a run from nothing publishes: {', '.join(differing)}")
        for artifact in ARTIFACTS:
            package.call("verify", f"out/{artifact}")
        times = Counter(fields["unit"] for kind, fields in package.log().lines if kind in ("done", "end"))
        again = sorted(unit for unit in self.before if times[unit] != 1)
        check(not again or self.renewed, f"units that were finished ran again, or are lost: {', '.join(again)}")
        lines = len(package.log().lines)
        package.run()
        added = [fields for kind, fields in package.log().lines[lines:] if kind != "run"]
        check(not added, f"the next run did {added}")

    @scenario
    def units_of_the_plan_run_by_name(self):
        package = self.copy("unit")
        units = [unit for unit in self.offered if unit not in self.recorded]
        for unit in units:
            refuses = unit in self.renewed
            said = package.worker("--unit", unit, wanted=CONFIG if refuses else DONE)
            check(not refuses or "plan again with this one" in said, f"a refused unit: {said}")
        check(len(units) > 2, f"the plan has only {units}")
        self.anew(package)
        for _ in range(MOST_ROUNDS):
            for unit in (units := package.plan()):
                package.worker("--unit", unit)
            if not units:
                break
        self.compare(package)

    @scenario
    def a_worker_takes_the_next_units(self):
        package = self.copy("next")
        package.worker("--next", wanted=CONFIG if self.renewed else DONE)
        if not self.renewed:
            self.compare(package)

    @scenario
    def a_plan_takes_the_records(self):
        package = self.copy("plan")
        self.anew(package)
        package.plan()
        check(not package.recorded(), f"records are left: {package.recorded()}")
        package.worker("--next")
        self.compare(package)

    @scenario
    def a_run_takes_the_records(self):
        package = self.copy("run")
        self.anew(package)
        package.run()
        self.compare(package)


if __name__ == "__main__":
    pipe = str(Path(sys.argv[1]).resolve())
    if sys.argv[2:3] == ["make"]:
        make(pipe, sys.argv[3])
    else:
        archives = sorted(GOLDEN.glob("*/package.tar.xz"))
        check(archives, "no work package of an earlier version")
        for one in archives:
            print(f"work package of {one.parent.name}", flush=True)
            with tempfile.TemporaryDirectory() as temporary:
                play(Scenarios(pipe, Path(temporary), one))
