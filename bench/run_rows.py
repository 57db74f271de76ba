"""The rows of `run.py` about `pipe run` itself: its overhead, its scaling, its memory, its planning, small files."""

import os
import shutil
import statistics
import sys
import time
from pathlib import Path

from measuring import ONE_CORE, digest, output_of, run, spread

HERE = Path(__file__).resolve().parent
MIB = 1 << 20


def pipe(bench, corpus, *options, shuffle="none", settings=(), fresh=True, root=None, prefix=()):
    """Runs `pipe run` from nothing; `fresh` False: on the files of the last run."""
    root = root or bench.scratch
    if fresh:
        shutil.rmtree(root, ignore_errors=True)
    command = [*prefix, bench.binaries / "pipe", "run", HERE / "pipeline.yaml", "--work", root / "work"]
    for setting in (f"corpus={corpus}", f"out={root / 'out'}", f"stages.text.shuffle={shuffle}", *settings):
        command += ["--set", setting]
    return run([*command, *options])


def overhead(bench):
    """Compares `pipe run` with a bare loop around the same libraries that writes the same bytes."""
    bare_out = bench.root / "bare.tfrecord"

    def bare():
        return run([*ONE_CORE, bench.binaries / "bare_chain", bench.texts.one_block, bare_out])

    value, values, _ = bench.pairs(bare, lambda: pipe(bench, bench.texts.one_block, "-j", 1, prefix=ONE_CORE),
                                   lambda one, other: one.cpu / other.cpu, times=3)
    if digest(sorted((bench.scratch / "out").glob("bench/1.0.0/*.tfrecord-*"))) != digest([bare_out]):
        sys.exit("bench: pipe and bare_chain wrote different records")
    bench.row("CPU of a bare loop / of `pipe run`, on one core", value, 0.95, note=f"{spread(values)}; same bytes")


def decoder(bench):
    """Compares with `xz -dc`. The start and the last commits are a visible part only of a short input."""
    for text, floor, what in ((bench.texts.one_block, None, "the text"), (bench.texts.long_block, 0.95, "four times the text")):
        value, values, foreign = bench.pairs(lambda: run(["xz", "-dc", text]), lambda: pipe(bench, text, "-j", 2),
                                             lambda one, other: one.wall / other.wall, wall=True)
        bench.row(f"wall of `xz -dc` / of `pipe run`, one block of {what}", value, floor,
                  note=f"{spread(values)}; others took up to {foreign:.0%}")


def shuffle(bench):
    value, values, _ = bench.pairs(lambda: pipe(bench, bench.texts.one_block, "-j", 1, prefix=ONE_CORE),
                                   lambda: pipe(bench, bench.texts.one_block, "-j", 1, shuffle="{seed: 0}", prefix=ONE_CORE),
                                   lambda without, with_it: 100 * (with_it.cpu - without.cpu) / with_it.cpu)
    bench.row("shuffle's share of the CPU", value, 25, most=True, unit=" %", note=spread(values))


def scaling(bench):
    value, values, foreign = bench.pairs(
        lambda: pipe(bench, bench.texts.blocks, "-j", 2, prefix=ONE_CORE),
        lambda: pipe(bench, bench.texts.blocks, "-j", 2), lambda one, two: one.wall / two.wall, wall=True)
    bench.row("wall on one core / on two, many blocks", value, 1.7,
              note=f"{spread(values)}; others took up to {foreign:.0%}")


def memory(bench):
    for order in ("none", "{seed: 0}"):
        settings = ["memory=256MiB", "partition=8MiB"]
        if order != "none":
            settings.append("stages.text.shards=2")  # each shard is larger than the window of the unit that merges it
        small = max(pipe(bench, bench.texts.blocks, "-j", 2, shuffle=order, settings=settings).peak for _ in range(3))
        large = pipe(bench, bench.texts.tenfold, "-j", 2, shuffle=order, settings=settings).peak
        name = "shuffled" if order != "none" else "corpus order"
        bench.row(f"peak memory / `limits.memory`, {name}, ten times the text", large / (256 * MIB), 1.0,
                  most=True, note=f"{large / MIB:.0f} MiB of 256")
        bench.row(f"peak memory of ten times the text / of the text, {name}", large / small, 1.1, most=True,
                  note=f"{small / MIB:.0f} MiB, {large / MIB:.0f} MiB")


def reads(bench):
    shutil.rmtree(bench.scratch, ignore_errors=True)
    printed = output_of(bench.binaries / "shuffle_reads", bench.texts.one_block, bench.scratch, 4 * MIB, 64 * MIB, 1, 1000)
    for line in printed.splitlines():
        shards, written, read, peak = map(int, line.split())
        bench.row(f"bytes read / written, second pass, {shards} shards", read / written, 2.5, most=True,
                  note=f"{peak / MIB:.0f} MiB held")


def planning(bench):
    """Plans 100,000 partitions, made by a real run of as many documents in memory, where syncing costs nothing."""
    root = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else bench.root) / f"pipe-bench-{os.getpid()}"
    documents = bench.root / "documents.txt"
    documents.write_text("".join(f"{number} 本日は晴天なり\n" for number in range(100_000)), encoding="utf-8")

    def go(*options, **more):
        return pipe(bench, documents, *options, shuffle="{seed: 0}", root=root, fresh=False, **more,
                    settings=("partition=1B", "documents=line", "stages.text.shards=1000"))

    def median(*options):
        costs = [go(*options) for _ in range(bench.pairs_wanted)]
        return statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs)

    try:
        go()
        wall, cpu = median("-n")
        bench.row("`pipe run -n`, 100,000 units and published", wall, 1.0, most=True, unit=" s", note=f"CPU {cpu:.2f} s")
        wall, cpu = median()
        bench.row("`pipe run` with nothing to do", wall, 2.0, most=True, unit=" s", note=f"CPU {cpu:.2f} s")
        shutil.rmtree(root / "out")
        wall, cpu = median("-n")
        bench.row("`pipe run -n`, 100,000 units, not published", wall, 1.0, most=True, unit=" s", note=f"CPU {cpu:.2f} s")
    finally:
        shutil.rmtree(root, ignore_errors=True)


SMALL_FILES, SMALL_BYTES = 20_000, 3000


def small_files(bench):
    """The plan of many small files, none of which was hashed before, and the run of them; on disk, with all syncs."""
    root, files = bench.root / "small", bench.root / "small_files"
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir(parents=True)
    with open(bench.texts.plain, "rb") as text:
        for number in range(SMALL_FILES):
            (files / f"{number:05}.txt").write_bytes(text.read(SMALL_BYTES) + text.readline())
    time.sleep(2)  # the digest of a file that was changed just now is not kept

    def go(pair, *options):
        # ext4 is slow to make files soon after others were removed, so each pair has a directory of its own.
        return pipe(bench, files / "*.txt", *options, shuffle="{seed: 0}", root=root / str(pair), fresh=False)

    try:
        plans, runs = [], []
        for pair in range(bench.pairs_wanted):
            plans.append(go(pair, "-n"))
            runs.append(go(pair))
        wall = statistics.median(cost.wall for cost in plans)
        bench.row(f"first `pipe run -n`, {SMALL_FILES:,} files of 3 kB", wall, 1.0, most=True, unit=" s",
                  note=f"CPU {statistics.median(cost.cpu for cost in plans):.2f} s")
        each = statistics.median(cost.cpu for cost in runs) / SMALL_FILES * 1000
        bench.row("CPU of `pipe run` for each of them", each, 0.3, most=True, unit=" ms",
                  note=f"wall {statistics.median(cost.wall for cost in runs):.1f} s")
    finally:
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(files, ignore_errors=True)
