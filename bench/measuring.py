"""What programs cost, in pairs, and the table that holds it against floors."""

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ONE_CORE = ("taskset", "-c", "0")
FOREIGN = 0.05  # a pair that is about wall is measured again where others took more of the machine
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


def run(command, stdout=subprocess.DEVNULL):
    """What one run of a program costs. Ends the measurement where the program fails."""
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
    """What a program prints that measures itself. Ends the measurement where it fails."""
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def spread(values):
    return f"{min(values):.3g} to {max(values):.3g}"


class Bench:
    """The programs to measure, where they may write, and the rows of the table so far."""

    def __init__(self, binaries, python, trainer, texts, place, pairs):
        self.binaries = binaries
        self.python = python
        self.trainer = trainer
        self.texts = texts
        self.place = place
        self.scratch = place / "scratch"
        self.pairs_wanted = pairs
        self.floors = []  # (name, met)

    def pairs(self, one, other, of, wall=False, times=1):
        """The median of of(one, other) over interleaved pairs, all values, and the largest foreign share.
        `times` as many pairs as elsewhere: where the floor is nearer than a median of few can tell."""
        values, foreign, again = [], 0.0, 0
        one(), other()  # the page cache is warm
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
        """`most`: the value may not be above the floor, else not below. None: there is no floor."""
        limit, verdict = "", ""
        if floor is not None:
            met = value <= floor if most else value >= floor
            limit, verdict = f"{'≤' if most else '≥'} {floor:g}{unit}", "ok" if met else "**missed**"
            self.floors.append((name, met))
        print(f"| {name} | {value:.3g}{unit} | {limit} | {verdict} | {note} |", flush=True)
