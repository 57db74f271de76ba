"""Engines of the product on hosts without a common disk, for tests: the words of `pipe submit` for each, and the losses
that its own log tells."""

import re

from hosts import ENGINE, Apart
from ray_cluster import Ray
from slurm_cluster import Slurm

HOSTS, WORKERS = 3, 3
PERIOD = "1"  # seconds between two signs of life of a worker; four of them are silence


def new_hosts(place, network):
    """The first one is that of the controller, the head and the command that watches."""
    (place.root / ENGINE).mkdir()
    return network.add(1 + HOSTS, Apart)


class SlurmBench:
    def __init__(self, place, network, _):
        self.cluster = Slurm(place.root / ENGINE / "slurm", new_hosts(place, network), cores=2, memory=4000)
        self.bucket, self.root = network.bucket, place.root
        self.hosts, self.first, self.words = self.cluster.hosts, self.cluster.controller, []
        self.variables = {**self.cluster.variables, "PIPE_LEASE": PERIOD}

    def losses(self, run):
        jobs = {job for one in re.findall(r"started by slurm, job ([\d,]+)", run.said()) for job in one.split(",")}
        return sum(task.split("_")[0] in jobs for host in self.hosts for task in self.cluster.lost(host))

    def workers_said(self, _):
        """Hosts do not see the directory of the engine's files: messages of workers are in their own /tmp."""
        return "".join(path.read_text(errors="replace") for host in self.hosts
                       for path in sorted(host.there("/tmp").glob("pipe-*.log")))

    def repair(self):
        """What an administrator does: a controller that lost its last seconds may start tasks twice, and then takes their
        hosts out of use."""
        for host in self.hosts:
            if self.cluster.tell("sinfo", "-hN", "-n", host.name, "-t", "drain", "-o", "%N"):
                self.cluster.tell("scontrol", "update", f"nodename={host.name}", "state=resume")


class RayBench:
    def __init__(self, place, network, environment):
        self.cluster = Ray(environment, place.root / "ray", new_hosts(place, network), cores=2, memory=4 << 30,
                           PIPE_LEASE=PERIOD)
        self.bucket, self.root = network.bucket, place.root
        self.hosts, self.first, self.variables = self.cluster.hosts, self.cluster.head, {"PIPE_LEASE": PERIOD}
        self.words = ["--python", self.cluster.python, "--address", self.cluster.address]

    def losses(self, run):
        said = self.workers_said(run)
        return sum(said.count(f"lost ({name}), started again") for name in ("NodeDiedError", "WorkerCrashedError"))

    def workers_said(self, run):
        return "".join(path.read_text(errors="replace") for path in run.directory.glob(".pipe/*/submit/*.log"))

    def repair(self):
        """A host without Ray joins again by itself."""


BENCHES = {"slurm": SlurmBench, "ray": RayBench}
