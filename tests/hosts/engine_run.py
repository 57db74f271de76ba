#!/usr/bin/env python3
"""pipelines/cc100_ja.yaml by `pipe submit` with a real engine, on three hosts that have only a bucket in common: one
loses its power inside a unit, and the objects are those of `pipe run`.

    engine_run.py PIPE FAKE_GCS slurm
    engine_run.py PIPE FAKE_GCS ray ENVIRONMENT
"""

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from hosts import machines

import replan_support as support  # noqa: E402
from benches import BENCHES, HOSTS, WORKERS  # noqa: E402
from engine import check  # noqa: E402
from fake_buckets import BUCKET  # noqa: E402
from pipe_run import differences  # noqa: E402
from small_pipelines import SmallPipeline  # noqa: E402

MOST_HITS = 3  # faults inside one unit: after six silent workers it would be given up


class Package:
    """The work package of a run, as listings of the bucket show it again and again. Generations of the bucket rise with
    each change of any object."""

    def __init__(self, bucket, home):
        self.bucket, self.home = bucket, home
        self.leases, self.segments = {}, {}  # object: its generation and what it says; segment of the log: its text
        self.begun = {}  # unit: {worker: generation of its first lease; 0: that one was not seen}
        self.done = {}  # unit: generation of its first record
        self.names = set()

    def look(self):
        """Returns the leases of units: [(unit, host, process)]."""
        items = self.bucket.items(BUCKET, f"{self.home}/package/")
        self.names, leases = {name.removeprefix(f"{self.home}/package/") for name in items}, []
        for name, item in items.items():
            kind, _, unit = name.removeprefix(f"{self.home}/package/").removesuffix(".json").partition("/")
            if kind == "done":
                self.done.setdefault(unit, int(item["generation"]))
            if kind != "lease" or unit == "-":
                continue
            unit = unit.removesuffix(".2")
            if self.leases.get(name, (None,))[0] != item["generation"]:
                try:
                    lease = json.loads(self.bucket.get(BUCKET, name))
                except OSError:
                    continue  # it is gone
                self.leases[name] = item["generation"], lease
                first = 0 if lease["renewal"] else int(item["generation"])
                self.begun.setdefault(unit, {}).setdefault(lease["nonce"], first)
            host, process = re.fullmatch(r"(.*), process (\d+)", self.leases[name][1]["who"]).groups()
            leases.append((unit, host, int(process)))
        return leases

    def is_done(self, unit):
        """A record stays until its line is in the log; the lease stays longer."""
        if unit in self.done:
            return True
        for name in self.bucket.items(BUCKET, f"{self.home}/log/").keys() - self.segments.keys():
            try:
                self.segments[name] = self.bucket.get(BUCKET, name).decode()
            except OSError:
                continue  # a longer segment has replaced it
        line = re.compile(rf"^(done|end|cuts)\t(.*\t)?unit={re.escape(unit)}\t", re.MULTILINE)
        return any(line.search(text) for text in self.segments.values())

    def begun_again(self):
        """Units that more than one worker began."""
        return [unit for unit, workers in self.begun.items() if len(workers) > 1]

    def begun_after_done(self, said):
        """Units that a worker began after they were done; `said`: by the workers. A lease whose request came late is no
        beginning: its worker says so, and leaves the unit."""
        late = set(re.findall(r"(\S+): was done before this worker had its lease", said))
        return [unit for unit, workers in self.begun.items()
                if unit not in late and max(workers.values()) > self.done.get(unit, 1 << 63)]


class EngineRun:
    """One run by workers, with its home and its outputs in the bucket. The first host runs the command that watches."""

    def __init__(self, bench, kind, small, name):
        self.bench, self.kind, self.small, self.name = bench, kind, small, name
        self.package, self.watch, self.hits = Package(bench.bucket, f"{name}/home"), None, Counter()
        self.directory, self.home = bench.first.disk / name, f"gs://{BUCKET}/{name}/home"
        self.words = small.words(self.directory, f"{name}/out")

    def start(self):
        """Starts the workers and watches them, or attaches to them."""
        self.watch = self.bench.first.start(
            ["env", "-C", self.directory, self.small.pipe, "submit", *self.words, "--on", self.kind, "--workers",
             WORKERS, "--work", self.home, "--scratch", "/tmp", *self.bench.words], self.bench.root / f"said-{self.name}",
            **self.bench.variables)

    def said(self):
        return (self.bench.root / f"said-{self.name}").read_text()

    def all_said(self):
        return f"{self.said()[-4000:]}\n{self.bench.workers_said(self)[-4000:]}"

    def open_on(self, host, leases):
        """Units that a living worker of the host has taken and that are not done."""
        there = [(unit, process) for unit, name, process in leases if name == host.name]
        ids = host.own_ids() if there else ()
        return [unit for unit, process in there if process in ids and not self.package.is_done(unit)]

    def may_hit(self, units):
        return all(self.hits[unit] < MOST_HITS for unit in units)

    def freeze_inside(self, hosts, tend=lambda: None, seconds=60):
        """Suspends one of `hosts()` that is inside a unit. Returns it and its open units; None: the run has ended
        before. Calls `tend` while it waits."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            leases = self.package.look()
            for host in hosts():
                units = self.open_on(host, leases)
                if not units or not self.may_hit(units):
                    continue
                host.freeze()
                units = self.open_on(host, self.package.look())
                if units and self.may_hit(units):
                    self.hits.update(units)
                    return host, units
                host.thaw()
            if self.ended():
                return None
            tend()
            time.sleep(0.02)
        raise SystemExit(f"no worker takes a unit\n{self.all_said()}")

    def ended(self):
        return "end.json" in self.package.names

    def finish(self, seconds):
        """Waits for the end of the command. Then all objects are those of `pipe run`, which finds nothing to do, and no
        unit was begun after it was done."""
        deadline = time.monotonic() + seconds
        while self.watch.poll() is None and time.monotonic() < deadline:
            self.package.look()
            time.sleep(0.1)
        check(self.watch.poll() == 0, f"`pipe submit` ended with {self.watch.poll()}\n{self.all_said()}")
        found = differences(self.small.wanted, self.small.published(f"{self.name}/out"))
        check(not found, "other objects than by `pipe run`: " + "; ".join(found))
        again = self.package.begun_after_done(self.bench.workers_said(self))
        check(not again, f"begun after they were done: {again}\n{self.all_said()}")
        here = self.bench.root / f"last-{self.name}"
        self.small.run(here, self.home, f"{self.name}/out", "--scratch", here / "scratch")
        check("up to date" in self.small.said, f"`pipe run` finds something to do after the workers\n{self.small.said}")


def main():
    pipe, fake = (Path(word).absolute() for word in sys.argv[1:3])
    kind, environment = sys.argv[3], Path(sys.argv[4]).absolute() if len(sys.argv) > 4 else None
    machines.isolate(as_root=kind == "slurm")
    began = time.monotonic()

    def say(what):
        print(f"[{time.monotonic() - began:5.1f} s] {what}", flush=True)

    with support.Sandbox("/tmp") as place, machines.Network(fake, place.root) as network:
        small = SmallPipeline("cc100_ja", pipe, network.bucket, place.root)
        bench = BENCHES[kind](place, network, environment)
        run = EngineRun(bench, kind, small, "run")
        run.start()
        say(f"{WORKERS} workers are started on {HOSTS} hosts")
        found = run.freeze_inside(lambda: bench.hosts)
        check(found is not None, f"the run ended before a host could be lost\n{run.said()}")
        host, units = found
        host.kill()
        say(f"{host.name} loses its power inside {', '.join(units)}")
        run.finish(200)
        losses = bench.losses(run)
        check(losses > 0, f"the log of the engine has no loss:\n{run.said()}\n{bench.cluster.log()[-4000:]}")
        say(f"the log of the engine has {losses} lost worker; {len(small.wanted)} objects are those of `pipe run`; of "
            f"{len(run.package.begun)} units {len(run.package.begun_again())} were begun again, none after it was done")


if __name__ == "__main__":
    main()
