"""Measures the cost of programs, in pairs, and prints the table that compares it with floors."""

import hashlib
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ONE_CORE = ("taskset", "-c", "0")
FOREIGN = 0.05  # a pair for wall time is measured again if others took more of the machine
RETRIES = 1  # for each pair


@dataclass
class Cost:
    wall: float
    cpu: float  # user and system, of all threads
    peak: int   # bytes resident
    foreign: float  # share of the machine's time that other processes took meanwhile


def busy_seconds():
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def digest(paths):
    """Returns the SHA-256 of the bytes of files, one after the other. It reads in pieces: a child begins with the memory of
    this process as its peak, and rows measure that."""
    whole = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                whole.update(piece)
    return whole.hexdigest()


def run(command, stdout=subprocess.DEVNULL):
    """Runs a program and returns its cost. Ends the measurement if the program fails."""
    busy, start = busy_seconds(), time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=stdout, stderr=subprocess.PIPE) as child:
        errors = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if child.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: exit {child.returncode}\n{errors.decode()}")
    cpu = used.ru_utime + used.ru_stime
    foreign = max(0.0, busy_seconds() - busy - cpu) / wall / os.cpu_count()
    return Cost(wall, cpu, used.ru_maxrss * 1024, foreign)


def output_of(*command, env=None):
    """Returns the output of a program that measures itself. Ends the measurement if it fails."""
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def spread(values):
    return f"{min(values):.3g} to {max(values):.3g}"


class Bench:
    """The programs to measure, the directories for their files, and the results of the rows so far."""

    def __init__(self, binaries, python, peers, trainer, texts, root, pairs):
        self.binaries = binaries
        self.python = python
        self.peers = peers
        self.trainer = trainer
        self.texts = texts
        self.root = root
        self.scratch = root / "scratch"
        self.pairs_wanted = pairs
        self.floors = []  # (name, met)

    def peer(self, package):
        """Returns the name and the version of a package of the peers."""
        asked = f"from importlib.metadata import version; print(version({package!r}))"
        return f"{package} {output_of(self.peers, '-c', asked).strip()}"

    def pairs(self, one, other, of, wall=False, times=1):
        """Returns the median of of(one, other) over interleaved pairs, all values, and the largest foreign share.
        `times`: factor on the number of pairs, for a floor so near that the median of few pairs is not enough."""
        values, foreign, again = [], 0.0, 0
        one(), other()  # warms the page cache
        while len(values) < times * self.pairs_wanted:
            first, second = (one(), other()) if len(values) % 2 == 0 else reversed((other(), one()))
            disturbed = max(first.foreign, second.foreign)
            if wall and disturbed > FOREIGN and again < RETRIES * times * self.pairs_wanted:
                again += 1
                continue
            values.append(of(first, second))
            foreign = max(foreign, disturbed)
        return statistics.median(values), values, foreign

    def row(self, name, value, floor, most=False, unit="", note=""):
        """Prints a row. `most`: the value may not be above the floor, else not below it. `floor` None: there is no
        floor."""
        limit, result = "", ""
        if floor is not None:
            met = value <= floor if most else value >= floor
            limit, result = f"{'≤' if most else '≥'} {floor:g}{unit}", "ok" if met else "**missed**"
            self.floors.append((name, met))
        print(f"| {name} | {value:.3g}{unit} | {limit} | {result} | {note} |", flush=True)
