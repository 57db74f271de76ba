#!/usr/bin/env python3
"""`pipe submit` with a real engine on three hosts: one host loses its power inside a unit, and the bytes are those of
`pipe run`.

    engine_run.py PIPE FAKE_GCS slurm
    engine_run.py PIPE FAKE_GCS ray ENVIRONMENT
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

from hosts import Host, machines

import replan_support as support  # noqa: E402
from engine import check  # noqa: E402
from pipe_run import corpus, differences, write_corpora  # noqa: E402
from ray_cluster import Ray  # noqa: E402
from slurm_cluster import Slurm  # noqa: E402
from workers import FILE, Shared, new_run  # noqa: E402

HOSTS, WORKERS = 3, 3
PERIOD = "1"  # seconds between two signs of life of a worker; four of them are silence


class SlurmBench:
    """A cluster, the words of `pipe submit` for it, and the losses of its hosts that its own log tells."""

    def __init__(self, place, hosts, _):
        self.cluster = Slurm(place.root / "slurm", hosts, cores=2, memory=4000)
        self.hosts, self.first, self.words = self.cluster.hosts, self.cluster.controller, []
        self.variables = {**self.cluster.variables, "PIPE_LEASE": PERIOD}

    def losses(self, run):
        jobs = {job for one in re.findall(r"started by slurm, job ([\d,]+)", run.said()) for job in one.split(",")}
        return sum(task.split("_")[0] in jobs for host in self.hosts for task in self.cluster.lost(host))

    def repair(self):
        """What an administrator does: a controller that lost its last seconds may start tasks twice, and then takes their
        hosts out of use."""
        for host in self.hosts:
            if self.cluster.tell("sinfo", "-hN", "-n", host.name, "-t", "drain", "-o", "%N"):
                self.cluster.tell("scontrol", "update", f"nodename={host.name}", "state=resume")


class RayBench:
    def __init__(self, place, hosts, environment):
        self.cluster = Ray(environment, place.root / "ray", hosts, cores=2, memory=4 << 30, PIPE_LEASE=PERIOD)
        self.hosts, self.first, self.variables = self.cluster.hosts, self.cluster.head, {"PIPE_LEASE": PERIOD}
        self.words = ["--python", self.cluster.python, "--address", self.cluster.address]

    def losses(self, run):
        said = run.workers_said()
        return sum(said.count(f"lost ({name}), started again") for name in ("NodeDiedError", "WorkerCrashedError"))

    def repair(self):
        """A host without Ray joins again by itself."""


BENCHES = {"slurm": SlurmBench, "ray": RayBench}


class EngineRun:
    """One run by workers; its work directory is one that all hosts share. The command that watches runs on the first
    host."""

    def __init__(self, bench, kind, pipe, root, inputs):
        self.bench, self.kind, self.pipe, self.root = bench, kind, pipe, root
        self.shared = new_run(Shared, str(pipe), root, inputs)
        self.shared.package = self.shared.work / "package"
        self.watch = None

    def start(self):
        """Starts the workers and watches them, or attaches to them."""
        shared = self.shared
        self.watch = self.bench.first.start(
            [self.pipe, "submit", shared.file, "--on", self.kind, "--workers", WORKERS, "--work", shared.work, "--set",
             f"out={shared.out}", *self.bench.words], self.root / "said", **self.bench.variables)

    def said(self):
        return (self.root / "said").read_text()

    def workers_said(self):
        return "".join(path.read_text(errors="replace") for path in sorted(self.shared.work.glob("submit/*.log")))

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
        raise SystemExit(f"no worker takes a unit\n{self.said()[-4000:]}\n{self.workers_said()[-4000:]}")

    def ended(self):
        return (self.shared.package / "end.json").exists()

    def finish(self, undisturbed, seconds):
        """Waits for the end of the command, and compares."""
        try:
            code = self.watch.wait(seconds)
        except subprocess.TimeoutExpired:
            code = f"nothing within {seconds} s"
        check(code == 0, f"`pipe submit` ended with {code}\n{self.said()[-4000:]}\n{self.workers_said()[-4000:]}")
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
    pipe, fake = (Path(word).absolute() for word in sys.argv[1:3])
    kind, environment = sys.argv[3], Path(sys.argv[4]).absolute() if len(sys.argv) > 4 else None
    machines.isolate(as_root=kind == "slurm")
    began = time.monotonic()

    def say(what):
        print(f"[{time.monotonic() - began:5.1f} s] {what}", flush=True)

    with support.Sandbox() as place, machines.Network(fake, place.root) as network:
        inputs, undisturbed = prepare(pipe, place.root)
        bench = BENCHES[kind](place, network.add(1 + HOSTS, Host), environment)
        run = EngineRun(bench, kind, pipe, place.root / "run", inputs)
        run.start()
        say(f"{WORKERS} workers are started on {HOSTS} hosts")
        found = run.freeze_inside(lambda: bench.hosts)
        check(found is not None, f"the run ended before a host could be lost\n{run.said()}")
        host, units = found
        host.kill()
        say(f"{host.name} loses its power inside {', '.join(units)}")
        check(not any(run.is_done(unit) for unit in units), "the unit was done")
        run.finish(undisturbed, 200)
        losses = bench.losses(run)
        check(losses > 0, f"the log of the engine has no loss:\n{run.said()}\n{bench.cluster.log()[-4000:]}")
        say(f"the log of the engine has {losses} lost worker, and the bytes are those of `pipe run`")


if __name__ == "__main__":
    main()
