#!/usr/bin/env python3
"""A source that is written through mmap, which moves neither its size nor its times: no bytes that were not hashed are
published under the old digest.

    changed_source.py PIPE OTHER_CLOCK.so [NAME...]

All runs have a clock that is ahead: a digest is kept only for a file that did not change in the last two seconds.
"""

import json
import mmap
import os
import sys
import tempfile
from pathlib import Path

from pipe_run import Run, corpus, differences, hold
from scenarios import play, scenario
from workers import NO_INPUT, Shared, new_run

ALONE = "compared by size and times alone; --check reads all"
DIFFERS = "are not those that its digest was made of, although its size and times are as before"
RANGE = 64 << 20
AT = 0.75  # the part of the file where it is changed


class Mapped:
    """A file whose pages are dirty in a mapping: from then on a write to it moves no time. Its directory is in memory, so
    that nothing writes the pages to a disk meanwhile."""

    def __init__(self, data):
        self.directory = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.path = Path(self.directory.name) / "corpus.txt"
        self.path.write_bytes(data)
        self.file = open(self.path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 0)
        for at in range(0, len(data), mmap.PAGESIZE):
            self.map[at] = self.map[at]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.map.close()
        self.file.close()
        self.directory.cleanup()

    def change(self, run, at):
        """Writes a letter over one behind `at`."""
        before = os.stat(self.path)
        at = self.map.find(b"\n\xe3", int(at)) + 1
        self.map[at:at + 3] = "ん".encode() if self.map[at:at + 3] != "ん".encode() else "を".encode()
        after = os.stat(self.path)
        hold((before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns), run,
             "the file system has moved the times, so this test tests nothing")


def is_of_the_new_bytes(run):
    """Its artifacts are those of a run that has never seen other bytes."""
    fresh = Run(run.program, run.root.with_name("fresh"), run.file.read_text())
    hold(fresh.finish("-j", "2") == 0, fresh, "a first run failed")
    hold(not differences(fresh.published(), run.published()), run, "it made other bytes")


def says(run, action, text, often=1):
    before = len(run.messages())
    result = action()
    told = run.messages()[before:]
    hold(told.count(text) == often, run, f"{often} times expected: {text!r}:\n{told}")
    return result


def worked_off(shared):
    while units := shared.plan():
        for unit in units:
            process = shared.worker(unit)
            process.communicate(timeout=100)
            hold(process.returncode == 0, shared, f"worker {unit} ended with {process.returncode}")


def refused(shared, unit):
    process = shared.worker(unit)
    says(shared, lambda: process.communicate(timeout=100), DIFFERS)
    hold(process.returncode == NO_INPUT, shared, f"worker {unit} ended with {process.returncode}")
    changed = [path.read_text() for path in shared.package.glob("changed/*")]
    hold(len(changed) == 1, shared, f"the next plan hears of {changed}")


class Scenarios:
    @scenario
    def resumed(self, program, root):
        """A run is killed; the source changes; the run goes on."""
        with Mapped(corpus(seed=11, size=600_000)) as source:
            run = new_run(Run, program, root / "run", [source.path])
            hold(run.finish("-n") == 0, run, "a dry run, which keeps the digest, failed")
            hold(run.finish("-j", "1", kill_at="partition.logged:4") == -9, run, "it was not killed")
            made = run.log().done("docs/")
            hold(made >= 3, run, f"it has made {made} partitions")
            source.change(run, 600_000 * AT)
            hold(says(run, lambda: run.finish("-j", "1"), DIFFERS) == 1, run, "new bytes went on under the old digest")
            hold(not [*run.out.rglob("MANIFEST.json")], run, "it has published")
            hold(run.finish("-j", "1") == 0, run, "the next run failed, too")
            is_of_the_new_bytes(run)

    @scenario
    def looked_at(self, program, root):
        """Nothing is to do; a run that compared times alone says so, and --check reads."""
        with Mapped(corpus(seed=12, size=300_000)) as source:
            run = new_run(Run, program, root / "run", [source.path])
            hold(run.finish() == 0 and ALONE not in run.messages(), run, "the first run has read its source")
            hold(says(run, run.finish, f"of {source.path} was {ALONE}") == 0, run, "failed")
            hold(says(run, lambda: run.finish("--check"), ALONE, 0) == 0, run, "it has read its source")
            source.change(run, 300_000 * AT)
            before = run.published()
            hold(says(run, run.finish, ALONE) == 0 and run.published() == before, run, "nothing shows the change")
            hold(says(run, lambda: run.finish("--check", "-n"), "has other bytes than when its digest was taken") == 2, run,
                 "the locations hold artifacts of the old bytes")
            hold(says(run, run.finish, "nothing to do", 0) == 2, run, "the digest was not renewed")
            hold(run.finish("--force", "lines") == 0, run, "the new bytes are not read")
            is_of_the_new_bytes(run)

    @scenario
    def given_out(self, program, root):
        """The source changes between a plan and its worker."""
        with Mapped(corpus(seed=13, size=300_000)) as source:
            shared = new_run(Shared, program, root / "run", [source.path])
            units = shared.plan()
            source.change(shared, 300_000 * AT)
            refused(shared, units[0])
            worked_off(shared)
            hold(not [*shared.package.glob("changed/*")], shared, "it is told again")
            is_of_the_new_bytes(shared)

    @scenario
    def cut(self, program, root):
        """Workers share a source of two ranges, and the second one changes: partitions of the first one are made."""
        data = corpus(seed=14, size=400_000)
        data *= (RANGE + (8 << 20)) // len(data) + 1
        with Mapped(data) as source:
            shared = new_run(Shared, program, root / "run", [source.path])
            lines = [line for line in shared.file.read_text().splitlines() if not line.startswith(("  clean:", "  again:"))]
            shared.file.write_text("\n".join(lines).replace("input: clean", "input: lines").replace("48KiB", "7MiB") + "\n")
            for unit in shared.plan():
                process = shared.worker(unit)
                process.communicate(timeout=100)
                hold(process.returncode == 0, shared, f"worker {unit} ended with {process.returncode}")
            units = shared.plan()
            files = json.loads((shared.package / "plan.json").read_text())["files"]
            hold([len(file["ranges"]) for file in files] == [2], shared, f"the plan has {files}")
            hold("text/0000-00003" in units and "text/0000-00009" in units, shared, f"the plan has {units}")
            source.change(shared, RANGE + (4 << 20))
            process = shared.worker("text/0000-00003")
            process.communicate(timeout=100)
            hold(process.returncode == 0, shared, "a partition of the first range was not made")
            # A worker that is killed once the partition is in its log has compared its bytes.
            killed = shared.worker("text/0000-00009", kill_at="partition.logged")
            killed.communicate(timeout=100)
            hold(killed.returncode == NO_INPUT, shared, f"the worker ended with {killed.returncode}")
            hold(not (shared.package / "done/text/0000-00009.json").exists(), shared, "its result is there")
            refused(shared, "text/0000-00010")
            worked_off(shared)
            is_of_the_new_bytes(shared)


def main():
    pipe, clock, *names = sys.argv[1:]
    os.environ |= {"LD_PRELOAD": str(Path(clock).resolve()), "OTHER_CLOCK_AHEAD": "3600"}
    with tempfile.TemporaryDirectory() as directory:
        play(Scenarios(), names, lambda name: (str(Path(pipe).resolve()), Path(directory) / name))


if __name__ == "__main__":
    main()
