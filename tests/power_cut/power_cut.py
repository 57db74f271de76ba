#!/usr/bin/env python3
"""What a run publishes is the same after the power went at any moment.

    power_cut.py PIPE POWER_LOG PIPELINE [--states N] [--seed N] [--jobs N]

PIPELINE is one of those below, or `control`: the same states of a disk that ignores syncs, where a run must lose
something. POWER_LOG is the library that records (README.md). A state that fails is kept, with the command that
reproduces it.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from crash_states import Disk, read_log, tree  # noqa: E402
from full_line import sentences  # noqa: E402
from pipe_run import TEMPORARY, corpus  # noqa: E402

# Partition files that two stages read; the second run replaces the shards of the first one.
LINE = """\
pipe: 1
name: line
limits: { memory: 1GiB }
stages:
  source: { type: download, url: ["CORPUS/a.txt", "CORPUS/b.txt"] }
  lines: { type: decompress, input: source, partition: 24KiB, max_record_bytes: 16KiB }
  clean: { type: normalize, input: lines, form: nfkc }
  good: { type: filter, input: clean, min_chars: 3 }
  docs: { type: split, input: good, splits: { train: rest, validation: 0.2 } }
  text: { type: write_tfds, input: docs, name: text, version: 1.0.0, shards: 3, out: out }
  rows: { type: write_jsonl, input: docs, unit: document, shards: 2, out: out/rows }
"""
# Jobs, a barrier stage, and readers of whole artifacts.
MODEL = """\
pipe: 1
name: model
limits: { memory: 1GiB }
stages:
  source: { type: download, url: "CORPUS/words.txt" }
  lines: { type: decompress, input: source, partition: 24KiB }
  docs: { type: split, input: lines, splits: { train: rest, validation: 0.2 } }
  pick: { type: sample, input: docs, split: train, bytes: 40KB }
  tokenizer: { type: train_tokenizer, input: pick, vocab_size: 900, character_coverage: 0.98, byte_fallback: true,
               out: out/tokenizer }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 32, shards: 2, out: out/packed }
"""
# Several corpora into one; damaged text, whose records are dropped and counted; the second run adds a reader of
# existing outputs.
MIXTURE = """\
pipe: 1
name: mixture
limits: { memory: 1GiB }
stages:
  dirty: { type: download, url: "CORPUS/a.txt" }
  dirty_lines: { type: decompress, input: dirty, partition: 16KiB, max_record_bytes: 4KiB }
  dirty_docs: { type: split, input: dirty_lines, splits: { train: rest, validation: 0.2 } }
  words: { type: download, url: "CORPUS/words.txt" }
  words_lines: { type: decompress, input: words, partition: 24KiB }
  words_docs: { type: split, input: words_lines, splits: { train: rest, validation: 0.2 } }
  mixed: { type: mix, corpora: [dirty_docs, words_docs], weights: [1, 2], unit: documents }
  kept: { type: filter, input: mixed, min_chars: 2, expect: { kept_ratio: [0.2, 1] } }
  rows: { type: write_jsonl, input: kept, unit: document, shards: 3, out: out/rows }
  text: { type: write_tfds, input: kept, name: text, version: 1.0.0, shuffle: none, out: out }
"""
# Small files, which are committed in groups: what waits for shards in bundles, and dropped records as a file each.
SMALL = """\
pipe: 1
name: small
limits: { memory: 1GiB }
stages:
  source: { type: download, url: "CORPUS/small/*.txt" }
  lines: { type: decompress, input: source, max_record_bytes: 4KiB }
  good: { type: filter, input: lines, min_chars: 12 }
  docs: { type: split, input: good, splits: { train: rest, validation: 0.2 } }
  text: { type: write_tfds, input: docs, name: text, version: 1.0.0, shards: 2, out: out }
"""
SMALL_FILES = 80
PIPELINES = {  # a file, and the options of its consecutive runs
    "line": (LINE, [[], ["--set", "stages.text.shards=2", "--force", "text"]]),
    "model": (MODEL, [[]]),
    "small": (SMALL, [[]]),
    "mixture": (MIXTURE, [["--until", "rows"], []]),
}


class Recording:
    """The undisturbed runs of a pipeline, with every change that they made."""

    def __init__(self, options, pipeline, root):
        self.pipe, self.root = options.pipe, root
        text, self.runs = PIPELINES[pipeline]
        texts = root / "corpora"
        texts.mkdir(parents=True)
        (texts / "a.txt").write_bytes(corpus(seed=1, size=90_000))
        (texts / "b.txt").write_bytes(corpus(seed=2, size=40_000))
        (texts / "words.txt").write_bytes(sentences(3, 120_000))
        (texts / "small").mkdir()
        for number in range(SMALL_FILES):
            (texts / "small" / f"{number:03}.txt").write_bytes(corpus(seed=number, size=1000))
        self.file = root / "pipeline.yaml"
        self.file.write_text(text.replace("CORPUS", str(texts)), encoding="utf-8")
        base, log = root / "undisturbed", root / "power.log"
        base.mkdir()
        self.ends, self.wanted = [], []  # per run: number of records up to its end, and its published files
        for number in range(len(self.runs)):
            done = self.run(number, base, POWER_LOG_ROOT=str(base), POWER_LOG=str(log), LD_PRELOAD=options.power_log)
            if done.returncode != 0:
                fail(f"an undisturbed run ended with {done.returncode}:\n{done.stdout}")
            self.records = read_log(log)
            self.ends.append(len(self.records))
            self.wanted.append(published(base))
        self.base = base
        self.check()

    def run(self, number, base, patience=100, **environment):
        """The run `number` in the directory `base`, with its output."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
        command = [self.pipe, "run", str(self.file), "--work", "work", "-j", "2", *self.runs[number]]
        return subprocess.run(command, cwd=base, env={**clean, "PIPE_LEASE": "0.5", **environment}, timeout=patience,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              encoding="utf-8", errors="replace")

    def check(self):
        """Checks that all changes together give the directory that the runs left: the recording missed nothing."""
        disk = Disk(self.base)
        for record in self.records:
            disk.apply(record)
        disk.write_all(self.root / "replayed")
        found, wanted = (tree(directory, without=("runs",)) for directory in (self.root / "replayed", self.base))
        if found != wanted:
            names = sorted(name for name in {*found, *wanted} if found.get(name, 0) != wanted.get(name, 0))
            fail(f"the recording is not what happened: {', '.join(names[:10])}")

    def run_at(self, cut):
        """The run that was at work when the log was cut there."""
        return next(number for number, end in enumerate(self.ends) if cut <= end)

    def disks(self, cuts, lying_syncs):
        """The disk at each of the `cuts`, which ascend."""
        disk, applied = Disk(self.base, lying_syncs), 0
        for cut in cuts:
            for record in self.records[applied:cut]:
                disk.apply(record)
            applied = cut
            yield disk


def published(base):
    """All files in `out`, without .pipe/ and temporaries, and the dropped records in `work`."""
    return {f"{place}/{name}": data
            for place in ("out", "work/quarantine") if (base / place).exists()
            for name, data in tree(base / place, without=(".pipe",)).items()
            if data is not None and not TEMPORARY.fullmatch(name.rpartition("/")[2])}


def compare(wanted, found):
    return [name for name in sorted({*wanted, *found}) if wanted.get(name) != found.get(name)]


def try_states(recording, options, lying_syncs=False):
    """States that end unlike the undisturbed run, as (number, why): all of them; with `lying_syncs`, the first few."""
    chance = random.Random(options.seed)
    first = recording.ends[0] if lying_syncs else 1  # published files may be lost
    cuts = sorted(chance.randrange(first, len(recording.records) + 1) for _ in range(options.states))
    failures = []
    # A lease lost by such a disk looks like another machine's, for which a run waits a minute.
    patience = 8 if lying_syncs else 100

    def finish(number, cut, base):
        run = recording.run_at(cut)
        try:
            done = recording.run(run, base, patience)
        except subprocess.TimeoutExpired:
            if not lying_syncs:
                raise
            return
        wrong = compare(recording.wanted[run], published(base))
        why = f"exit {done.returncode}: {done.stdout[-1500:]}" if done.returncode else ", ".join(wrong[:6])
        if why and not lying_syncs:
            failures.append((number, f"cut at record {cut} of {len(recording.records)}, run {run}: {why}"))
            shutil.copytree(base, Path(f"{options.keep}/state-{number}"), dirs_exist_ok=True, symlinks=True)
        elif why:
            failures.append((number, why))
        shutil.rmtree(base)

    with ThreadPoolExecutor(options.jobs) as pool:
        running = []
        for number, (cut, disk) in enumerate(zip(cuts, recording.disks(cuts, lying_syncs))):
            if lying_syncs and failures:
                break
            base = recording.root / f"state-{number}"
            disk.write_crash(base, random.Random(f"{options.seed}/{number}"))
            running.append(pool.submit(finish, number, cut, base))
            if len(running) > 3 * options.jobs:
                running.pop(0).result()
        for one in running:
            one.result()
    return sorted(failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipe", type=os.path.abspath)
    parser.add_argument("power_log", type=os.path.abspath)
    parser.add_argument("pipeline", choices=(*PIPELINES, "control"))
    parser.add_argument("--states", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", default="build/power_cut", help="where a state that failed is kept")
    options = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # syncs cost nothing there
    with tempfile.TemporaryDirectory(prefix="pipe-power-cut-", dir=memory) as root:
        if options.pipeline == "control":
            recording = Recording(options, "line", Path(root))
            lost = try_states(recording, options, lying_syncs=True)
            print("\n".join(f"state {number} of a disk whose syncs lie: {why}" for number, why in lost))
            if not lost:
                fail("not one was seen: these states would show nothing on an honest disk either")
            return
        recording = Recording(options, options.pipeline, Path(root))
        kinds = Counter(record.operation for record in recording.records)
        print(f"{options.pipeline}: {len(recording.records)} records ({dict(kinds)})")
        failures = try_states(recording, options)
        for number, why in failures[:5]:
            print(f"state {number} (--seed {options.seed}), kept in {options.keep}/state-{number}: {why}")
        if failures:
            fail(f"{len(failures)} of {options.states} states")
        print(f"{options.states} states, each ended with the bytes and manifests of an undisturbed run")


def fail(message):
    print(f"FAILED: {message}")
    sys.exit(1)


if __name__ == "__main__":
    main()
