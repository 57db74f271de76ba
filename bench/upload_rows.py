"""The rows of `run.py` about uploads: one object of 512 MiB to the fake bucket, which keeps only checksums."""

import itertools
import json
import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

from measuring import run, spread

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
OBJECT_BYTES = 512 * MIB
BUCKET = "bench"


@contextmanager
def fake_bucket(program):
    """Starts the bucket in a process of its own and gives its URL."""
    with subprocess.Popen([program, "--discard", "--no-md5", "--bucket", BUCKET], stdout=subprocess.PIPE, text=True) as server:
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.send_signal(signal.SIGTERM)


def made_file(path, size):
    if not path.exists() or path.stat().st_size != size:
        with open(path, "wb") as file:
            for begin in range(0, size, MIB):
                file.write(os.urandom(min(MIB, size - begin)))
    return path


class Uploads:
    """Uploads the same file in several ways, each time as another object."""

    def __init__(self, bench, url):
        self.bench, self.url = bench, url
        self.program = bench.binaries / "upload_object"
        self.numbers = itertools.count()
        self.file = made_file(bench.root / "object", OBJECT_BYTES)
        self.told = bench.root / "upload.told"

    def name(self):
        return f"object-{next(self.numbers)}"

    def bare(self):
        return run([self.program, "bare", self.file, self.url, BUCKET, self.name()])

    def python(self):
        return run([self.bench.python, HERE / "upload_object.py", self.file, self.url, BUCKET, self.name()])

    def words(self, how):
        return self.program, how, self.file, f"gs://{BUCKET}/{self.name()}", self.bench.root / "spool"

    def store(self):
        return run(self.words("file"))

    def told_by(self, command):
        """Runs a command. Returns (its cost, the numbers that it prints)."""
        with open(self.told, "wb") as out:
            cost = run(command, stdout=out)
        return cost, list(map(float, self.told.read_text().split()))

    def commit(self):
        """Returns the cost, with the wall time of Commit alone."""
        cost, (_, commit, _) = self.told_by(self.words("file"))
        cost.wall = commit
        return cost

    def bare_transfer(self):
        cost, (transfer,) = self.told_by([self.program, "bare", self.file, self.url, BUCKET, self.name()])
        cost.wall = transfer
        return cost


def rows(bench):
    with fake_bucket(bench.binaries / "fake_gcs") as url:
        os.environ["STORAGE_EMULATOR_HOST"] = url
        try:
            measure(bench, Uploads(bench, url))
        finally:
            del os.environ["STORAGE_EMULATOR_HOST"]


def measure(bench, uploads):
    def by_wall(one, other):
        return one.wall / other.wall

    size = f"{OBJECT_BYTES // MIB} MiB"
    value, values, foreign = bench.pairs(uploads.bare_transfer, uploads.commit, by_wall, wall=True)
    bench.row(f"wall of a bare libcurl loop / of `Commit`, an object of {size}", value, 0.9,
              note=f"{spread(values)}; others took up to {foreign:.0%}")
    value, values, foreign = bench.pairs(uploads.bare, uploads.store, by_wall, wall=True)
    bench.row("the same, whole processes", value, None,
              note=f"{spread(values)}; others took up to {foreign:.0%}")
    value, values, _ = bench.pairs(uploads.python, uploads.store, lambda one, other: one.cpu / other.cpu)
    bench.row("CPU of google-cloud-storage in Python / of ours, the same file", value, 3, note=spread(values))
    for how, what in (("file", "a file"), ("append", "bytes, through the spool")):
        grown = [uploads.told_by(uploads.words(how))[1][2] / 1024 for _ in range(3)]
        bench.row(f"memory of an upload of {size}, {what}", max(grown), 32, most=True, unit=" MiB", note=spread(grown))
