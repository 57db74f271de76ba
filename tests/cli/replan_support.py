"""A work directory for tests of the program: a corpus, a pipeline file, runs of `pipe`, and the units that each run
did.

Units are counted from the lines that a run appended to run.log (dag/books/run_log.md), not from its messages.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PIPE = ""  # the program, set by main
KEEPING = ("--keep-intermediates",)


def corpus(documents=240, lines=6, seed=1):
    """Documents with blank lines between them, with characters that nfc and nfkc treat differently."""
    out = []
    for document in range(documents):
        for line in range(lines):
            number = (document * 7919 + line * 104729 + seed) % 1000003
            out.append(f"第{document}章{line}節 ｶﾞｷﾞｸﾞ ①②③ ﬁ {number:07d} 吾輩は猫である。名前はまだ無い。")
        out.append("")
    return "\n".join(out).encode() + b"\n"


def tree(root):
    """name -> digest of every file below `root`, without those below .pipe/."""
    root = Path(root)
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(root.rglob("*")) if path.is_file() and ".pipe" not in path.relative_to(root).parts}


def read(path):
    """Text of a file; empty if it does not exist yet."""
    return path.read_text() if path.exists() else ""


def stat_tree(root):
    """Every entry below `root`, with the attributes that any write changes."""
    seen = {}
    for path in sorted([Path(root), *Path(root).rglob("*")]):
        at = path.lstat()
        seen[str(path)] = (at.st_mode, at.st_size, at.st_mtime_ns, at.st_ino)
    return seen


def fields(line):
    """Fields of a log line; of repeated keys, the last."""
    return dict(part.split("=", 1) for part in line.split("\t")[1:-1] if "=" in part)


def kind_of(unit):
    """One of partitions, shards, ends, jobs."""
    last = unit.rsplit("/", 1)[1]
    if last == "-":
        return "jobs"
    if last.endswith("-*"):
        return "ends"
    return "shards" if "-of-" in last else "partitions"


class Run:
    """The messages and the units of one run of the program."""

    def __init__(self, code, out, err, lines, seconds):
        self.code, self.out, self.err, self.lines, self.seconds = code, out, err, lines, seconds
        self.units = Counter()  # (stage, kind) -> done and end lines
        self.failed, self.invalidated = [], []
        for line in lines:
            word = line.split("\t", 1)[0]
            if word not in ("done", "end", "failed", "void"):
                continue
            unit = fields(line)["unit"]
            if word in ("done", "end"):
                self.units[unit.split("/")[0], kind_of(unit)] += 1
            elif word == "failed":
                self.failed.append(unit)
            else:
                self.invalidated.append(unit)

    def of(self, kind, stage=None):
        return sum(n for (at, what), n in self.units.items() if what == kind and stage in (None, at))

    def counted(self):
        parts = [f"{stage}: {n} {kind}" for (stage, kind), n in sorted(self.units.items())]
        parts += [f"void {unit}" for unit in self.invalidated] + [f"failed {unit}" for unit in self.failed]
        return ", ".join(parts) or "0 units"


class Sandbox:
    """A temporary directory with a pipeline, removed at the end."""

    def __init__(self, where=None):
        self.root = Path(tempfile.mkdtemp(prefix="pipe-test-", dir=where))
        self.work = self.root / "work"
        self.out = self.root / "out"
        self.source = self.root / "corpus.txt"
        self.file = self.root / "p.yaml"
        self.source.write_bytes(corpus())
        self.options = ()  # of each run
        self.head = {}
        self.stages = {
            "source": {"type": "download", "url": str(self.source)},
            "lines": {"type": "decompress", "input": "source", "partition": "16KiB"},
            "clean": {"type": "normalize", "input": "lines", "form": "nfkc"},
            "docs": {"type": "split", "input": "clean", "splits": {"train": "rest", "validation": 0.1}},
            "text": {"type": "write_tfds", "input": "docs", "name": "tiny", "shards": 4, "out": str(self.out)},
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def log(self):
        return self.work / "run.log"

    @property
    def artifact(self):
        return self.out / "tiny" / "1.0.0"

    def write_file(self):
        head = {"pipe": 1, "name": "tiny", **self.head}
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in head.items()) + "stages:\n"
        text += "".join(f"  {name}: {json.dumps(spec)}\n" for name, spec in self.stages.items())
        if not self.file.exists() or self.file.read_text() != text:
            self.file.write_text(text)

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def arguments(self, command, *args):
        options = self.options if command in ("run", "retry") else ()
        return [PIPE, command, str(self.file), "--work", str(self.work), *options, *args]

    def run(self, *args, command="run", env=None, timeout=50, **popen):
        """One run to its end. Its log lines are those after its own `run` line."""
        self.write_file()
        known = {fields(line).get("id") for line in self.log_text().splitlines() if line.startswith("run\t")}
        began = time.monotonic()
        done = subprocess.run(self.arguments(command, *args), capture_output=True, timeout=timeout,
                              env={**os.environ, **(env or {})}, cwd=self.root, **popen)
        seconds = time.monotonic() - began
        lines = self.log_text().split("\n")
        new = [at for at, line in enumerate(lines) if line.startswith("run\t") and fields(line).get("id") not in known]
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode(),
                   lines[new[0]:] if new else [], seconds)

    def ok(self, *args, **options):
        run = self.run(*args, **options)
        check(run.code == 0, f"exit {run.code}, expected 0\n{run.out}{run.err}")
        return run

    def start(self, *args, env=None, **popen):
        self.write_file()
        return subprocess.Popen(self.arguments("run", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, **(env or {})}, cwd=self.root, **popen)

    def partition_outputs(self, stage):
        """Directories of the partition outputs of `stage`, the newest last."""
        found = (self.work / "artifacts").glob(f"{stage}-*")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)


class Wrong(AssertionError):
    pass


def check(condition, message):
    if not condition:
        raise Wrong(message)


def check_units(run, **expected):
    """Checks that the run did exactly these units, given as `stage_kind=number`."""
    want = Counter()
    for name, number in expected.items():
        stage, kind = name.rsplit("_", 1)
        if number:
            want[stage, kind] = number
    check(run.units == want, f"ran {run.counted()}; expected "
          f"{', '.join(f'{s}: {n} {k}' for (s, k), n in sorted(want.items())) or '0 units'}\n{run.out}{run.err}")


def check_says(text, *parts):
    for part in parts:
        check(part in text, f"does not say {part!r}:\n{text}")


def main(scenarios):
    """Runs the scenarios named on the command line, otherwise all; prints a line for each."""
    global PIPE
    PIPE = os.path.abspath(sys.argv[1])
    names, wrong, began = sys.argv[2:], 0, time.monotonic()
    for scenario in scenarios:
        if names and scenario.__name__ not in names:
            continue
        since = time.monotonic()
        try:
            told = scenario() or "as designed"
        except (Wrong, subprocess.TimeoutExpired) as error:
            told, wrong = f"WRONG: {error}", wrong + 1
        print(f"{scenario.__name__.replace('_', ' ')}: {told} [{time.monotonic() - since:.1f} s]", flush=True)
    print(f"{len(names) or len(scenarios)} scenarios, {wrong} wrong, {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0
