#!/usr/bin/env python3
"""A pipeline by workers of a real engine on three hosts: one host loses its power inside a unit, and the bytes are those
of `pipe run`.

    engine_run.py PIPE ENGINE FAKE_GCS slurm
    engine_run.py PIPE ENGINE FAKE_GCS ray ENVIRONMENT
"""

import json
import re
import sys
import time
from pathlib import Path

from hosts import Host, machines

import replan_support as support  # noqa: E402
from engine import Workers, check  # noqa: E402
from pipe_run import corpus, differences, write_corpora  # noqa: E402
from ray_cluster import Ray  # noqa: E402
from slurm_cluster import Slurm  # noqa: E402
from workers import FILE, Shared, new_run  # noqa: E402

HOSTS, WORKERS = 3, 3
PERIOD = "1"  # seconds between two signs of life of a worker; four of them are silence


class SlurmBench:
    """A cluster, what workers need to start on it, and the losses of its hosts that its own log tells."""

    def __init__(self, place, hosts, _):
        self.cluster = Slurm(place.root / "slurm", hosts, cores=2)
        self.hosts, self.first, self.options = self.cluster.hosts, self.cluster.controller, {}
        self.variables = {**self.cluster.variables, "PIPE_LEASE": PERIOD}

    def losses(self, workers):
        return sum(task.split("_")[0] in workers.job.split(",") for host in self.hosts for task in self.cluster.lost(host))


class RayBench:
    def __init__(self, place, hosts, environment):
        self.cluster = Ray(environment, place.root / "ray", hosts, cores=2, PIPE_LEASE=PERIOD)
        self.hosts, self.first, self.variables = self.cluster.hosts, self.cluster.head, {}
        self.options = {"python": self.cluster.python, "address": self.cluster.address}

    def losses(self, workers):
        said = workers.messages()
        return sum(said.count(f"lost ({name}), started again") for name in ("NodeDiedError", "WorkerCrashedError"))


BENCHES = {"slurm": SlurmBench, "ray": RayBench}


class EngineRun:
    """One run by workers; its work directory is one that all hosts share."""

    def __init__(self, bench, kind, engine, pipe, root, inputs):
        self.bench, self.pipe = bench, pipe
        self.shared = new_run(Shared, str(pipe), root, inputs)
        self.workers = Workers(engine, kind, bench.first, root / "engine", **bench.variables)

    def start(self, plan=True):
        """Starts the workers; `plan`: after `pipe plan`."""
        shared = self.shared
        if plan:
            self.bench.first.run(self.pipe, "plan", shared.file, "-o", shared.package, "--work", shared.work, "--set",
                                 f"out={shared.out}", timeout=100)
        # --scratch: each host has a /tmp of its own.
        self.workers.start([self.pipe, "worker", "--plan", shared.package, "--next", "-j", "1", "--scratch", "/tmp"],
                           workers=WORKERS, memory=200 << 20, **self.bench.options)

    def open_units(self, lives):
        """Units that a living worker has taken and that are not done. `lives`: is asked with the name of its host and its
        process id. Returns pairs of the unit and that id."""
        found = []
        for path in sorted((self.shared.package / "lease").rglob("*.json")):
            unit = str(path.relative_to(self.shared.package / "lease").with_suffix("")).removesuffix(".2")
            try:
                host, process = re.fullmatch(r"(.*), process (\d+)", json.loads(path.read_text())["who"]).groups()
            except (OSError, ValueError):
                continue  # it is being replaced, or gone
            if unit != "-" and lives(host, int(process)) and not self.is_done(unit):
                found.append((unit, int(process)))
        return found

    def is_done(self, unit):
        """A record stays until its line is in the log; the lease stays longer."""
        if (self.shared.package / "done" / f"{unit}.json").exists():
            return True
        return self.shared.log().done(re.escape(unit) + "$") + self.shared.log().ended(re.escape(unit) + "$") > 0

    def open_on(self, host):
        ids = host.own_ids()
        return [unit for unit, _ in self.open_units(lambda name, process: name == host.name and process in ids)]

    def freeze_inside(self, hosts, tend=lambda: time.sleep(0.01), seconds=60):
        """Suspends one of `hosts()` that is inside a unit. Returns it and its open units; None: the run has ended
        before. Calls `tend` while it waits."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for host in hosts():
                if not self.open_on(host):
                    continue
                host.freeze()
                if units := self.open_on(host):
                    return host, units
                host.thaw()
            if self.ended():
                return None
            tend()
        raise SystemExit(f"no worker takes a unit\n{self.workers.state()}\n{self.workers.messages()[-4000:]}")

    def ended(self):
        return (self.shared.package / "end.json").exists()

    def finish(self, undisturbed, seconds):
        """Waits for the end, and compares."""
        self.workers.wait("the workers end", self.workers.is_over, seconds)
        end = self.shared.package / "end.json"
        check(end.exists(), f"the run has no end: {self.workers.state()}\n{self.workers.messages()[-4000:]}")
        check(not json.loads(end.read_text())["failures"], end.read_text())
        found = differences(undisturbed, self.shared.published())
        check(not found, "other bytes than `pipe run`: " + "; ".join(found))


def prepare(pipe, root, size=800_000, times=8):
    """Returns inputs of some seconds of work, and the bytes that `pipe run` makes of them."""
    inputs = write_corpora(root / "corpora", [corpus(seed, size) * times for seed in (3, 4, 5)], "gzip")
    urls = ", ".join(f'"{path}"' for path in inputs)
    alone = Shared(str(pipe), root / "alone", FILE.format(urls=urls))
    check(alone.finish("-j", "2") == 0, alone.messages())
    return inputs, alone.published()


def main():
    pipe, engine, fake = (Path(word).absolute() for word in sys.argv[1:4])
    kind, environment = sys.argv[4], Path(sys.argv[5]).absolute() if len(sys.argv) > 5 else None
    machines.isolate(as_root=kind == "slurm")
    began = time.monotonic()

    def say(what):
        print(f"[{time.monotonic() - began:5.1f} s] {what}", flush=True)

    with support.Sandbox() as place, machines.Network(fake, place.root) as network:
        inputs, undisturbed = prepare(pipe, place.root)
        bench = BENCHES[kind](place, network.add(1 + HOSTS, Host), environment)
        run = EngineRun(bench, kind, engine, pipe, place.root / "run", inputs)
        run.start()
        say(f"{WORKERS} workers are started on {HOSTS} hosts")
        host, units = run.freeze_inside(lambda: bench.hosts)
        host.kill()
        say(f"{host.name} loses its power inside {', '.join(units)}")
        check(not any(run.is_done(unit) for unit in units), "the unit was done")
        run.finish(undisturbed, 100)
        losses = bench.losses(run.workers)
        check(losses > 0, f"the log of the engine has no loss:\n{run.workers.messages()}\n{bench.cluster.log()[-4000:]}")
        say(f"the log of the engine has {losses} lost worker, and the bytes are those of `pipe run`")


if __name__ == "__main__":
    main()
