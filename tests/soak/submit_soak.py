#!/usr/bin/env python3
"""Pipelines of pipelines/ by `pipe submit` with a real engine, on three hosts that have only a bucket in common, with
faults by a seed, until there were enough of them and each pipeline was run. After each run the objects are those of
`pipe run`, and no unit was begun after it was done: at most the open unit of a worker is repeated.

    submit_soak.py PIPE FAKE_GCS slurm|ray ENVIRONMENT [--seed N] [--faults N] [--only PIPELINE]...

A host loses its power inside a unit and comes back; it is frozen inside a unit for longer than its lease; its network is
cut; a worker, or the program that keeps it, is killed; `pipe submit` is killed, and called again; the controller of
Slurm, or the driver of Ray's tasks, is killed. A line for each tells where it fell.
"""

import argparse
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hosts"))

from hosts import machines

import replan_support as support  # noqa: E402
from benches import BENCHES  # noqa: E402
from engine_run import EngineRun  # noqa: E402
from small_pipelines import SMALL, SmallPipeline  # noqa: E402

SILENCE = 6  # seconds: longer than four signs of life


class Soak:
    def __init__(self, words, place, network):
        self.words, self.chance, self.began = words, random.Random(words.seed), time.monotonic()
        self.counts, self.losses, self.units, self.again, self.next_repair = Counter(), 0, 0, 0, 0
        self.small = [SmallPipeline(name, words.pipe, network.bucket, place.root) for name in words.only or SMALL]
        self.bench = BENCHES[words.kind](place, network, words.environment)
        self.faults = [self.power, self.power, self.freeze, self.cut, self.kill_worker, self.kill_keeper, self.command,
                       self.controller if words.kind == "slurm" else self.driver]

    def say(self, what):
        print(f"[{time.monotonic() - self.began:6.1f} s] {what}", flush=True)

    def run(self):
        number = 0
        while self.counts.total() < self.words.faults or number < len(self.small):
            # Each pipeline has its share of the faults.
            left = max(len(self.small) - number, 1)
            self.round(number, (self.words.faults - self.counts.total() + left - 1) // left)
            number += 1
        if self.losses == 0:
            raise SystemExit("the log of the engine has no lost worker: the faults were none for it")
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        names = ", ".join(small.name for small in self.small)
        self.say(f"done: {self.counts.total()} faults ({kinds}) in {number} runs of {names} by {self.words.kind}; its log has "
                 f"{self.losses} lost workers; of {self.units} units {self.again} were begun again, none after it was done; "
                 "all objects are those of `pipe run`")

    def round(self, number, most):
        """One run, with `most` faults if it is long enough."""
        small = self.small[number % len(self.small)]
        run = EngineRun(self.bench, self.words.kind, small, f"run-{number}")
        self.calls = 0  # of the command after it ended by itself
        self.later = []  # (when, call, host): ends of faults
        before = self.counts.total()
        run.start()
        while not run.ended() and self.counts.total() < before + most:
            fault = self.chance.choice(self.faults)
            told = fault(run)
            if told is None:  # the run has ended, or the fault is there already
                time.sleep(0.1)
                continue
            self.counts[fault.__name__] += 1
            self.say(f"{small.name} {number}: {told}")
            self.pause(run, self.chance.uniform(0.5, 4))
        deadline = time.monotonic() + 300
        while (self.later or run.watch.poll() is None) and time.monotonic() < deadline:
            self.tend(run)
        run.finish(1)
        losses, units, again = self.bench.losses(run), len(run.package.begun), len(run.package.begun_again())
        self.losses, self.units, self.again = self.losses + losses, self.units + units, self.again + again
        self.say(f"{small.name} {number}: {len(small.wanted)} objects are those of `pipe run`; the engine lost {losses} "
                 f"workers; {again} of {units} units were begun again")

    def tend(self, run):
        """Ends faults whose time has come, and calls the command again where it says so."""
        run.package.look()
        for one in [one for one in self.later if one[0] <= time.monotonic()]:
            self.later.remove(one)
            one[1]()
        if time.monotonic() > self.next_repair:
            self.next_repair = time.monotonic() + 3
            self.bench.repair()
        if run.watch.poll() not in (None, 0):
            if self.calls == 30:
                raise SystemExit(f"`pipe submit` ended too often\n{run.all_said()}")
            self.calls += 1
            self.say(f"called again after: {run.said().splitlines()[-1]}")
            time.sleep(1)
            run.start()
        time.sleep(0.2)

    def pause(self, run, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.tend(run)

    def standing(self):
        """Hosts without a fault."""
        return [host for host in self.bench.hosts if host not in [one[2] for one in self.later]]

    def power(self, run):
        found = run.freeze_inside(self.standing, lambda: self.tend(run), 200)
        if found is None:
            return None
        host, units = found
        host.kill()
        host.frozen = False
        self.later.append((time.monotonic() + self.chance.uniform(1, 40), lambda: self.bench.cluster.boot(host), host))
        return f"{host.name} loses its power inside {units[0]}"

    def freeze(self, run):
        found = run.freeze_inside(self.standing, lambda: self.tend(run), 200)
        if found is None:
            return None
        host, units = found
        seconds = self.chance.uniform(SILENCE, 3 * SILENCE)
        self.later.append((time.monotonic() + seconds, host.thaw, host))
        return f"{host.name} is frozen for {seconds:.0f} s inside {units[0]}"

    def cut(self, run):
        found = run.freeze_inside(self.standing, lambda: self.tend(run), 200)
        if found is None:
            return None
        host, units = found
        host.cut()
        host.thaw()
        seconds = self.chance.uniform(1, 20)
        self.later.append((time.monotonic() + seconds, host.mend, host))
        return f"{host.name} is cut off for {seconds:.0f} s inside {units[0]}"

    def kill_in(self, run, text, what):
        """Kills the processes on a host inside a unit whose command has this text."""
        found = run.freeze_inside(self.standing, lambda: self.tend(run), 200)
        if found is None:
            return None
        host, units = found
        killed = 0
        for process in host.processes():
            try:
                if text in Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" "):
                    os.kill(process, signal.SIGKILL)
                    killed += 1
            except (FileNotFoundError, ProcessLookupError):
                continue
        host.thaw()
        return f"{killed} {what} on {host.name} are killed inside {units[0]}" if killed else None

    def kill_worker(self, run):
        return self.kill_in(run, b"worker --plan", "processes of workers")

    def kill_keeper(self, run):
        if self.words.kind == "slurm":
            return self.kill_in(run, b"slurmstepd", "step daemons")
        return self.kill_in(run, b"ray::work", "processes of tasks")

    def controller(self, _):
        if self.bench.first in [one[2] for one in self.later]:
            return None
        self.bench.cluster.kill_controller()
        until = time.monotonic() + self.chance.uniform(1, 8)
        self.later.append((until, self.bench.cluster.start_controller, self.bench.first))
        return "slurmctld is killed"

    def kill_first(self, word):
        """Kills the processes on the first host that have this word in their command."""
        for process in self.bench.first.processes():
            try:
                if word in Path(f"/proc/{process}/cmdline").read_bytes():
                    os.kill(process, signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                continue

    def driver(self, run):
        units = [unit for unit, *_ in run.package.look() if not run.package.is_done(unit)]
        if not units or not run.may_hit(units):
            return None
        run.hits.update(units)
        self.kill_first(b"ray_workers.py")
        return "the driver of the tasks is killed"

    def command(self, run):
        if run.watch.poll() is not None:
            return None
        self.kill_first(b"submit\0")
        run.watch.wait(20)
        run.start()
        return "`pipe submit` is killed and called again"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("pipe", "fake_gcs"):
        parser.add_argument(name, type=lambda word: Path(word).absolute())
    parser.add_argument("kind", choices=sorted(BENCHES))
    parser.add_argument("environment", type=lambda word: Path(word).absolute())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--only", action="append", choices=sorted(SMALL))
    words = parser.parse_args()
    machines.isolate(as_root=words.kind == "slurm")
    print(f"{words.kind}: seed {words.seed}, {words.faults} faults")
    with support.Sandbox("/tmp") as place, machines.Network(words.fake_gcs, place.root) as network:
        Soak(words, place, network).run()


if __name__ == "__main__":
    main()
