"""The rows of `run.py` about a run from xz to packed rows: compared with a loop in Python, and on a terminal."""

import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

from measuring import run, spread

HERE = Path(__file__).resolve().parent


def command(bench, corpus, *options):
    """Returns the command of a `pipe run` from a text to packed rows."""
    return [bench.binaries / "pipe", "run", HERE / "packed.yaml", "--work", bench.scratch / "work", "-j", 2,
            "--set", f"corpus={corpus}", "--set", f"out={bench.scratch / 'out'}", *options]


def tokenizer_of(bench, corpus):
    return bench.root / f"tokenizer-{corpus.stem}"


def with_tokenizer(bench, corpus, *options):
    """Returns a function that makes a run from a text to packed rows, from nothing but the tokenizer of that text."""
    def fresh():
        shutil.rmtree(bench.scratch, ignore_errors=True)
        return run(command(bench, corpus, "--set", f"stages.tokenizer.out={tokenizer_of(bench, corpus)}", *options))
    return fresh


def packed(bench):
    """Compares `pipe run` with the loop that people write in Python, a process per core, and with `xz -dc` alone:
    compressed text in one block to rows of ids."""
    text, rows, seq_len = bench.texts.long_block, bench.root / "python.rows", 1024

    def loop():
        counted = bench.root / "python.ids"
        with open(counted, "wb") as out:
            cost = run([bench.peers, HERE / "python_loop.py", text, tokenizer_of(bench, text) / "tokenizer.model", seq_len,
                        rows, os.cpu_count()], stdout=out)
        return cost, int(counted.read_text())

    with_tokenizer(bench, text, "--until", "tokenizer")()
    fresh = with_tokenizer(bench, text, "--only", "packed")
    value, values, foreign = bench.pairs(lambda: loop()[0], fresh, lambda by_python, by_pipe:
                                         by_python.wall / by_pipe.wall, wall=True, times=3)
    ids, made = loop()[1], json.loads((bench.scratch / "out/packed/packed.json").read_text())["splits"]["train"]
    # Inside a document our lines end with newline, theirs with eos: one id in both.
    if abs(made["targets"] - ids) > 1e-4 * ids:
        sys.exit(f"bench: the Python loop made {ids} ids and `pipe run` {made['targets']}")
    bench.row(f"wall of a Python loop over two processes, {bench.peer('sentencepiece')} / of `pipe run`, xz to packed rows", value, 3.0,
              note=f"{spread(values)}; {ids / 1e6:.1f} M ids; others took up to {foreign:.0%}")
    rows.unlink()
    value, values, foreign = bench.pairs(fresh, lambda: run(["xz", "-dc", text]), lambda pipe, xz: pipe.wall / xz.wall,
                                         wall=True)
    bench.row("wall of `pipe run`, xz to packed rows / of `xz -dc`", value, 1.3, most=True,
              note=f"{spread(values)}; others took up to {foreign:.0%}")


def display(bench):
    """Measures the thread that draws on a terminal of 50 lines while packed rows are made, as a share of a core's
    time."""
    words = command(bench, bench.texts.long_block, "--set", "stages.lines.partition=8MiB")
    shutil.rmtree(bench.scratch, ignore_errors=True)
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    drawn = [0]

    def read():
        try:
            while data := os.read(ours, 1 << 16):
                drawn[0] += len(data)
        except OSError:  # the end of the terminal
            pass

    reader = threading.Thread(target=read)
    reader.start()
    start, used, wall = time.monotonic(), 0, 0.0
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=theirs) as child:
        os.close(theirs)
        while child.poll() is None:
            for thread in Path(f"/proc/{child.pid}/task").glob("*"):
                try:
                    if (thread / "comm").read_text().strip() == "pipe-status":
                        used, wall = int((thread / "schedstat").read_text().split()[0]), time.monotonic() - start
                except OSError:  # the thread ended meanwhile
                    continue
            time.sleep(0.1)
    reader.join()
    os.close(ours)
    if child.returncode != 0 or used == 0 or drawn[0] < 1000:
        sys.exit(f"bench: the run on a terminal: exit {child.returncode}, {used} ns used to draw {drawn[0]} bytes")
    bench.row("time of the thread that draws the status, of a core", 100 * used / 1e9 / wall, 1, most=True, unit=" %",
              note=f"{used / 1e6:.0f} ms of {wall:.0f} s, {drawn[0] / 1e3:.0f} kB drawn")
