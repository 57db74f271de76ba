#!/usr/bin/env python3
"""Measures `pipe` beside its floors; 1 where one of them is missed. How and why: bench/README.md.

    run.py BIN [--corpus FILE.xz] [--python PROGRAM] [--peers PROGRAM] [--only NAME...] [--pairs N]
"""

import argparse
import os
import platform
import shutil
import sys
from pathlib import Path

import download_rows
import language_rows
import packed_rows
import peer_rows
import run_rows
import submit_rows
import tokenizer_rows
import training_rows
import upload_rows
import writer_rows
from measuring import Bench, output_of
from texts import Texts


def network(bench):
    download_rows.rows(bench)
    upload_rows.rows(bench)


def submit(bench):
    submit_rows.rows(bench)


def components(bench):
    """Prints the components, without floors. They help to find the cause if a ratio falls."""
    printed = output_of(bench.binaries / "components", "--benchmark_color=false",
                        env={**os.environ, "PIPE_BENCH_TEXT": str(bench.texts.plain)})
    print("\n" + "\n".join(line.rstrip() for line in printed.splitlines()))


ROWS = {function.__name__: function for function in (
    run_rows.overhead, run_rows.decoder, run_rows.shuffle, run_rows.scaling, run_rows.memory, run_rows.reads,
    run_rows.planning, run_rows.small_files, language_rows.words, language_rows.encode, packed_rows.packed, peer_rows.peers,
    tokenizer_rows.tokenizers, writer_rows.packed_writer, writer_rows.bert_writer, writer_rows.tfds, writer_rows.tfdata_writer,
    writer_rows.jsonl_writer, packed_rows.display,
    submit, network, training_rows.training, components)}


def machine():
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB, Linux {platform.release()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=Path)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--python", type=Path, default=sys.executable, help="an interpreter with google-cloud-storage")
    parser.add_argument("--peers", type=Path, default=sys.executable, help="one with the packages of requirements-peers.txt")
    parser.add_argument("--trainer", type=Path, default=sys.executable, help="an interpreter with the trainer's packages")
    parser.add_argument("--only", nargs="+", choices=ROWS, default=ROWS, metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--pairs", type=int, default=5)
    args = parser.parse_args()
    binaries = args.binaries.resolve()
    root = binaries.parent / "measured"
    texts = Texts(args.corpus, root)
    bench = Bench(binaries, args.python, args.peers, args.trainer, texts, root, args.pairs)
    print(f"Machine: {machine()}; load {os.getloadavg()[0]:.1f}. Text: {texts.plain.stat().st_size / 1e6:.0f} MB, "
          f"{texts.one_block.stat().st_size / 1e6:.1f} MB as xz.\n")
    print("| what | measured | floor | | |\n|---|---|---|---|---|")
    for name, row in ROWS.items():
        if name in args.only:
            row(bench)
    shutil.rmtree(bench.scratch, ignore_errors=True)
    missed = [name for name, met in bench.floors if not met]
    print(f"\n{len(bench.floors) - len(missed)} of {len(bench.floors)} floors met" + "".join(f"\nmissed: {name}" for name in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
