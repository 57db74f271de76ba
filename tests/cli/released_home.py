#!/usr/bin/env python3
"""A run whose home is in a bucket, and which an earlier version left unfinished, is continued by this one.

    released_home.py PIPE FAKE_GCS               continues the home of each tests/golden/NAME/home.tar.xz
    released_home.py PIPE FAKE_GCS make NAME     makes tests/golden/NAME/home.tar.xz by the program of a release

The archive has a pipeline file, its corpora, and the objects of the bucket below `objects/`: the home, and the artifacts
beside it. `make` leaves a run that a kill ended while it wrote shards into the bucket, with the lease of the killed
machine. The machine that continues has an empty scratch.
"""

import lzma
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from fake_buckets import BUCKET, FakeBucket
from pipe_run import Log
from released_work import GOLDEN, Sandbox, finished, sentences, stage_of, stages_of, write_archive
from scenarios import check, play, scenario

HOME = f"gs://{BUCKET}/run"
FILE = """\
pipe: 1
name: released
stages:
  source: { type: download, url: [first.txt.xz, second.txt] }
  lines: { type: decompress, input: source, partition: 2KiB, max_record_bytes: 4KiB, invalid_utf8: quarantine }
  good: { type: filter, input: lines, max_run: 40 }
  docs: { type: split, input: good, splits: { train: rest, validation: 0.25 } }
  pick: { type: sample, input: docs, split: train, bytes: 6KB, partition: 4KiB }
  tokenizer: { type: train_tokenizer, input: pick, vocab_size: 310, max_piece_length: 4 }
  rows: { type: write_jsonl, input: docs, unit: document, shards: 3, out: gs://shelf/out/rows }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 64, shards: 3, out: gs://shelf/out/packed }
"""
ARTIFACTS = ("rows", "packed")
KILLED = -9


class Machine(Sandbox):
    """A machine that has the corpora, and nothing of the run but its home."""

    def __init__(self, program, root, bucket):
        super().__init__(program, root)
        self.environment["STORAGE_EMULATOR_HOST"] = bucket.url

    def run(self, *words, **more):
        return self.call("run", "pipeline.yaml", "--work", HOME, "--scratch", "scratch", "-j", "1", *words, **more)

    def log(self):
        return Log(self.root / "scratch/run.log")


def published(bucket):
    """Without the records of who wrote them."""
    return {name: data for name, (_, data) in bucket.objects().items()
            if name.startswith("out/") and "/.pipe/" not in name}


def make(program, fake, name):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "place"
        root.mkdir()
        (root / "first.txt.xz").write_bytes(lzma.compress(sentences(1, 8_000)))
        (root / "second.txt").write_bytes(sentences(2, 20_000))
        (root / "pipeline.yaml").write_text(FILE)
        with FakeBucket(fake, Path(directory) / "bucket") as bucket:
            machine = Machine(program, root, bucket)
            machine.run("--until", "docs", kill_at="partition.logged:4", wanted=KILLED)
            machine.run("--until", "rows")
            machine.run("--until", "packed", kill_at="shard.logged:2", wanted=KILLED)
            shutil.rmtree(root / "scratch")
            for name_of_object, (_, data) in bucket.objects().items():
                path = root / "objects" / name_of_object
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        write_archive(root, name, "home")


class Scenarios:
    """In the order of a machine that got a new version of the program."""

    def __init__(self, program, fake, root, archive):
        with tarfile.open(archive) as packed:
            packed.extractall(root / "left")
        self.bucket = FakeBucket(fake, root / "bucket")
        for path in sorted((root / "left/objects").rglob("*")):
            if path.is_file():
                self.bucket.put(BUCKET, str(path.relative_to(root / "left/objects")), path.read_bytes())
        shutil.rmtree(root / "left/objects")
        self.left = Machine(program, root / "left", self.bucket)
        shutil.copytree(root / "left", root / "whole")
        kept = root / "before.log"  # the objects of a home's log are its parts, each with the line of a format
        parts = [data for name, (_, data) in sorted(self.bucket.objects().items()) if name.startswith("run/log/")]
        kept.write_bytes(parts[0] + b"".join(part.partition(b"\n")[2] for part in parts[1:]))
        self.before = Log(kept)
        with FakeBucket(fake, root / "other") as bucket:
            whole = Machine(program, root / "whole", bucket)
            whole.run(*whole.first_rules(self.before))
            self.wanted = published(bucket)
            self.now = stages_of(whole.log())

    def renewed(self):
        """Whether a stage or a library has another version than in the archive."""
        return any((stage["version"], stage["libraries"]) != (self.now[name]["version"], self.now[name]["libraries"])
                   for name, stage in stages_of(self.before).items() if name in self.now)

    @scenario
    def commands_report_the_state(self):
        told = self.left.call("runs", "pipeline.yaml", "--work", HOME, "--scratch", "scratch")
        for outcome in ("done", "killed"):
            check(outcome in told, f"no run that was {outcome}:\n{told}")
        status = self.left.call("status", "pipeline.yaml", "--work", HOME, "--scratch", "scratch")
        check(f"6 shards in gs://{BUCKET}/out/rows" in status or self.renewed(), f"pipe status:\n{status}")

    @scenario
    def finished_units_do_not_run_again(self):
        said = self.left.run()
        added = [fields["unit"] for _, fields in self.left.log().lines[len(self.before.lines):] if "unit" in fields]
        done = finished(self.before)
        check(len(done) > 15, f"only {len(done)} units were finished")
        again = sorted(unit for unit in done if unit in added)
        check(not again or self.renewed(), f"units that were finished ran again: {', '.join(again)}\n{said}")
        check(any(stage_of(unit) == "packed" for unit in added), f"nothing was continued: {added}")

    @scenario
    def published_objects_are_those_of_a_run_from_nothing(self):
        found = published(self.bucket)
        differing = sorted(name for name in {*found, *self.wanted} if found.get(name) != self.wanted.get(name))
        check(not differing or self.renewed(), f"a run from nothing publishes other objects: {', '.join(differing)}")
        for artifact in ARTIFACTS:
            self.left.call("verify", f"gs://{BUCKET}/out/{artifact}")

    @scenario
    def the_next_run_has_nothing_to_do(self):
        lines = len(self.left.log().lines)
        self.left.run()
        added = [fields for kind, fields in self.left.log().lines[lines:] if kind != "run"]
        check(not added, f"the next run did {added}")


if __name__ == "__main__":
    pipe, fake_gcs = (str(Path(path).resolve()) for path in sys.argv[1:3])
    if sys.argv[3:4] == ["make"]:
        make(pipe, fake_gcs, sys.argv[4])
    else:
        archives = sorted(GOLDEN.glob("*/home.tar.xz"))
        check(archives, "no home of an earlier version")
        for home in archives:
            print(f"home of {home.parent.name}", flush=True)
            with tempfile.TemporaryDirectory() as temporary:
                scenarios = Scenarios(pipe, fake_gcs, Path(temporary), home)
                with scenarios.bucket:
                    play(scenarios)
