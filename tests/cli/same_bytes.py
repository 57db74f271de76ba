#!/usr/bin/env python3
"""Published bytes are the same, whatever happens during a run.

    same_bytes.py PIPE settings    threads, batches, memory, locations
    same_bytes.py PIPE containers  the same text in every compression and archive, and plain
    same_bytes.py PIPE points      killed at every commit point, again and again
    same_bytes.py PIPE members     killed inside archives whose members belong to different splits
    same_bytes.py PIPE moments     killed from outside in every phase; stopped by signals
    same_bytes.py PIPE damage      intermediates damaged between two runs

A kill counts if the log then has a unit that is done, and no end of the run. After each kill every visible
file in `out` must be complete.
"""

import io
import re
import signal
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from pipe_run import CONTAINERS, Run, corpus, differences, fail, write_corpora

FILE = """\
pipe: 1
name: same
vars: {{ out: "" }}
limits: {{ memory: {memory} }}
stages:
  source: {{ type: download, url: [{urls}] }}
  lines: {{ type: decompress, input: source, partition: 128KiB, max_record_bytes: 64KiB{of_members} }}
  clean: {{ type: normalize, input: lines, form: nfkc }}
  docs: {{ type: split, input: clean, splits: {{ train: rest, validation: 0.1 }}{divided} }}
  text: {{ type: write_tfds, input: docs, name: shuffled, version: 1.0.0, shards: 4, out: "${{out}}" }}
"""
# A second reader of `docs`, so that its records are kept as partition files.
READER = """\
  again: { type: write_tfds, input: docs, name: in_order, version: 1.0.0, shuffle: none, out: "${out}" }
"""

# The same pipeline over an archive in which names of members define the splits.
BY_MEMBERS = {"of_members": ', splits: { train: "*/train/*", test: "*/test/*" }', "divided": ", of: train"}
WHOLE = {"of_members": "", "divided": ""}

# In the order of a run, so that each start still reaches the point of its kill.
LONG_CHAIN = (
    "partition.logged:1", "object.written:3", "object.synced:4", "object.visible:5", "partition.committed:3",
    "partition.logged:4", "object.visible:2", "input.ended:1", "input.ended:2", "partition.committed:2",
    "object.written:1", "names.listed:1", "shard.committed:1", "shard.logged:1", "object.synced:2", "shard.committed:2",
    "shard.logged:2", "sidecars.committed:1", "manifest.committed:1", "artifact.published:1",
    "sidecars.committed:1", "manifest.committed:1", "artifact.published:1")
OTHER_CHAIN = (
    "partition.committed:5", "partition.logged:9", "object.synced:8", "object.written:7", "object.visible:11",
    "input.ended:1", "shard.logged:2", "shard.committed:3", "object.visible:3", "artifact.published:1",
    "manifest.committed:1", "sidecars.committed:1")
SHORT_CHAIN = (
    "partition.logged:2", "partition.committed:2", "object.synced:1", "partition.committed:1", "object.visible:1",
    "input.ended:1", "partition.logged:3", "object.written:1", "input.ended:1", "shard.committed:2",
    "shard.logged:1", "object.written:2", "shard.committed:1", "sidecars.committed:1", "manifest.committed:1",
    "artifact.published:1")
COPY_CHAIN = ("object.visible:3", "sidecars.committed:1", "manifest.committed:1", "artifact.published:1")
# A scan logs its first cuts, and only workers scan.
EVERY_POINT = [point for point in re.findall(
    r'^ +"([a-z.]+)",', (Path(__file__).parents[2] / "base/commit_point.h").read_text(), re.M) if point != "cuts.logged"]
LEAST_KILLS = 30


class Trial:
    """The corpus, the bytes of an undisturbed run, and the kills so far."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.texts = [corpus(seed=1, size=1_800_000), corpus(seed=2, size=900_000)]
        self.inputs = write_corpora(root / "corpora", self.texts, "xz, one block")
        self.kills = Counter()
        self.runs = 0
        self.division = WHOLE
        self.set_wanted()

    def set_wanted(self):
        """Sets the files that an undisturbed run publishes."""
        undisturbed = self.new_run()
        self.check_exit(undisturbed, undisturbed.finish("-j", "2"))
        self.wanted = undisturbed.published()
        for artifact in ("shuffled", "in_order"):
            for file in ("MANIFEST.json", "features.json", "dataset_info.json"):
                if f"{artifact}/1.0.0/{file}" not in self.wanted:
                    fail(f"an undisturbed run did not publish {artifact}/1.0.0/{file}", undisturbed)
        self.undisturbed = undisturbed

    def new_run(self, inputs=None, memory="512MiB", readers=2):
        urls = ", ".join(f'"{path}"' for path in inputs or self.inputs)
        self.runs += 1
        return Run(self.program, self.root / f"run-{self.runs}",
                   FILE.format(memory=memory, urls=urls, **self.division) + (READER if readers == 2 else ""))

    def wanted_of(self, readers):
        return {name: digest for name, digest in self.wanted.items() if readers == 2 or name.startswith("shuffled/")}

    def check_exit(self, run, code):
        if code != 0:
            fail(f"exit code {code}", run)

    def check_same(self, run, what, wanted, lineage=True):
        found = differences(wanted, run.published(lineage))
        if found:
            fail(f"{what}: " + "; ".join(found), run)
        print(f"same bytes: {what}", flush=True)

    def check_visible(self, run, what):
        """Every visible file is complete; a file that marks completeness appears only after the files that it vouches
        for."""
        found = run.published()
        for name, digest in found.items():
            if self.wanted.get(name) != digest:
                fail(f"{what}: {name} is visible and is not what an undisturbed run publishes", run)
            directory, _, file = name.rpartition("/")
            for sign, but in (("features.json", ()), ("MANIFEST.json", ("features.json",))):
                if file != sign:
                    continue
                for other in self.wanted:
                    above, _, last = other.rpartition("/")
                    if above == directory and last not in but and other not in found:
                        fail(f"{what}: {name} is visible and {other} is not", run)

    def count(self, run, code, point):
        """True if the run was killed; a kill counts only in the middle of its work."""
        if code == 0:
            return False
        if code != -signal.SIGKILL:
            fail(f"exit code {code} of a run to be killed at {point}", run)
        self.check_visible(run, f"after a kill at {point}")
        if run.was_killed_at_work():
            self.kills[point.partition(":")[0]] += 1
        return True

    def verify(self, run):
        for artifact in sorted(run.out.glob("*/*")):
            done = run.verify(artifact)
            if done != 0:
                fail(f"pipe verify {artifact}: exit code {done}", run)

    def print_kills(self):
        print("\ncounted kills")
        for point, kills in self.kills.most_common():
            print(f"  {point:<22} {kills:3}")
        print(f"  {'total':<22} {sum(self.kills.values()):3}")


def settings(trial):
    trial.verify(trial.undisturbed)
    for readers, memory, options in (
            (2, "512MiB", ("-j", "1")),
            (2, "512MiB", ("-j", "7")),
            (2, "512MiB", ("-j", "2", "--batch-bytes", "700")),
            (2, "512MiB", ("-j", "7", "--batch-bytes", "20000")),
            (2, "1GiB", ("-j", "2", "--batch-bytes", "4000000")),
            (2, "80MiB", ("-j", "2", "--batch-bytes", "100000")),
            (2, "16GiB", ("-j", "2",)),
            (1, "512MiB", ("-j", "1")),
            (1, "512MiB", ("-j", "7", "--batch-bytes", "3000")),
            (1, "80MiB", ("-j", "2", "--batch-bytes", "100000"))):
        run = trial.new_run(memory=memory, readers=readers)
        trial.check_exit(run, run.finish(*options))
        trial.check_same(run, f"{readers} reader(s), {memory}, {' '.join(options)}", trial.wanted_of(readers))

    copy = trial.undisturbed
    copy.out = copy.root / "another location"
    trial.check_exit(copy, copy.finish())
    trial.check_same(copy, "copied to another location", trial.wanted)


def containers(trial):
    wanted = trial.undisturbed.published(lineage=False)
    for name in CONTAINERS:
        run = trial.new_run(write_corpora(trial.root / name, trial.texts, name))
        trial.check_exit(run, run.finish("-j", "2"))
        trial.check_same(run, name, wanted, lineage=False)


def kill_along(trial, run, options, chain, wanted):
    killed = 0
    for point in chain:
        # A start that reached the end has no point left for a kill.
        if not trial.count(run, run.finish(*options, kill_at=point), point):
            break
        killed += 1
    trial.check_exit(run, run.finish(*options))
    trial.check_same(run, f"{' '.join(options)}, killed {killed} of {len(chain)} times", wanted)
    trial.verify(run)


def points(trial):
    for readers, options, chain in (
            (2, ("-j", "2"), LONG_CHAIN),
            (2, ("-j", "7", "--batch-bytes", "5000"), OTHER_CHAIN),
            (1, ("-j", "1"), SHORT_CHAIN),
            (1, ("-j", "2", "--batch-bytes", "5000"), SHORT_CHAIN)):
        run = trial.new_run(readers=readers)
        kill_along(trial, run, options, chain, trial.wanted_of(readers))
    run.out = run.root / "another location"
    kill_along(trial, run, options, COPY_CHAIN, trial.wanted_of(readers))
    # On a busy machine a start may do more than its point allows; then its chain ends and the rest is not reached.
    for point in [point for point in EVERY_POINT if not trial.kills[point]]:
        kill_along(trial, trial.new_run(), ("-j", "2"), ("partition.logged:2", f"{point}:1"), trial.wanted)
    trial.print_kills()
    missed = [point for point in EVERY_POINT if not trial.kills[point]]
    if missed:
        fail(f"no counted kill at {', '.join(missed)}")
    if sum(trial.kills.values()) < LEAST_KILLS:
        fail(f"{sum(trial.kills.values())} counted kills, at least {LEAST_KILLS} are wanted")


def members(trial):
    """A start continues inside a member, at the border of two, and with partitions that have parts of both splits."""
    trial.inputs, trial.division = [trial.root / f"part-{part}.tar.gz" for part in range(2)], BY_MEMBERS
    for part, path in enumerate(trial.inputs):
        with tarfile.open(path, "w:gz") as made:
            for number, size in enumerate((700_000, 30_000, 50_000, 400_000, 0, 600_000)):
                text = corpus(seed=10 * part + number, size=size)
                member = tarfile.TarInfo(f"part/{('train', 'test')[number % 2]}/{number}.txt")
                member.size = len(text)
                made.addfile(member, io.BytesIO(text))
    trial.set_wanted()
    for split in ("train", "validation", "test"):
        if not any(f"shuffled-{split}." in name for name in trial.wanted):
            fail(f"an undisturbed run has no split {split}", trial.undisturbed)
    for readers, options, chain in (
            (2, ("-j", "2"), LONG_CHAIN),
            (2, ("-j", "7", "--batch-bytes", "5000"), OTHER_CHAIN),
            (1, ("-j", "1"), LONG_CHAIN)):
        run = trial.new_run(readers=readers)
        kill_along(trial, run, options, chain, trial.wanted_of(readers))
    trial.print_kills()
    if sum(trial.kills.values()) < LEAST_KILLS:
        fail(f"{sum(trial.kills.values())} counted kills, at least {LEAST_KILLS} are wanted")


# Settings for runs that are killed at a moment: slow, so that every phase is long enough.
SLOW = ("-j", "1", "--batch-bytes", "700")


def more_done(run, pattern, wanted):
    """A condition that holds when the next start has done so many more units."""
    already = run.log().done(pattern)
    return lambda: run.log().done(pattern) >= already + wanted


def moments(trial):
    """A phase that was over too quickly is tried again in another run."""
    committed = "shuffled/1.0.0/dataset_info.json"
    phases = {
        "decoding": lambda run: more_done(run, "docs/0000-", 2),
        "decoding further": lambda run: more_done(run, "docs/0000-", 3),
        "spilling": lambda run: more_done(run, "text/0000-", 2),
        "spilling further": lambda run: more_done(run, "text/0001-", 1),
        "merging": lambda run: more_done(run, r"text/\w+\.s", 1),
        "merging further": lambda run: more_done(run, r"text/\w+\.s", 2),
        "committing": lambda run: (run.out / committed).exists,
    }
    for _ in range(10):
        run = trial.new_run()
        for phase, moment in phases.items():
            if trial.kills[phase]:
                continue
            code = run.stop_when(moment(run), signal.SIGKILL, *SLOW)
            if not trial.count(run, code, phase):
                break
        trial.check_exit(run, run.finish(*SLOW))
        trial.check_same(run, "killed from outside", trial.wanted)
        if all(trial.kills[phase] for phase in phases):
            break
    trial.verify(run)
    trial.print_kills()
    missed = [phase for phase in phases if not trial.kills[phase]]
    if missed:
        fail(f"no counted kill while {', '.join(missed)}")
    stopped(trial, signal.SIGINT, 130)
    stopped(trial, signal.SIGTERM, 143)


def stopped(trial, by, wanted_code):
    """A signal ends a run in order; the next start continues."""
    run = trial.new_run()
    for pattern in ("docs/", "docs/", "text/"):
        code = run.stop_when(more_done(run, pattern, 1), by, *SLOW)
        if code != wanted_code:
            fail(f"exit code {code} after {by.name}", run)
        if run.outcome() != "cancelled":
            fail(f"the log says '{run.outcome()}' after {by.name}", run)
        trial.check_visible(run, f"after {by.name}")
    trial.check_exit(run, run.finish(*SLOW))
    trial.check_same(run, f"stopped three times by {by.name}", trial.wanted)


def flip(path):
    """Changes a byte in the middle; the size stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(data)


def damage(trial):
    """Kept intermediates are damaged: their readers notice, and they are made again once."""
    run = trial.new_run()
    code = run.stop_when(lambda: run.log().ended("docs/") == 2, signal.SIGKILL, *SLOW)
    if not trial.count(run, code, "decoding"):
        fail("a run was over before it could be killed", run)
    partitions = sorted(run.work.glob("artifacts/docs-*/0000-*"))
    partitions.pop(3).unlink()
    for partition in partitions:
        flip(partition)
    trial.check_exit(run, run.finish("-j", "7"))
    trial.check_same(run, "partition files damaged before two readers", trial.wanted)

    # So many threads that a unit's share of the memory has room for only a part of the records.
    run = trial.new_run(memory="80MiB", readers=1)
    if not trial.count(run, run.finish("-j", "2", kill_at="shard.committed:1"), "shard.committed"):
        fail("a run was over before it could be killed", run)
    for spill in sorted(run.work.glob("artifacts/text-*/0000-*"))[2:4]:
        flip(spill)
    trial.check_exit(run, run.finish("-j", "40", "--batch-bytes", "2000"))
    trial.check_same(run, "spills damaged before several groups of shards", trial.wanted_of(1))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        {"settings": settings, "containers": containers, "points": points, "members": members,
         "moments": moments, "damage": damage}[sys.argv[2]](Trial(str(Path(sys.argv[1]).resolve()), Path(directory)))
