"""A real Ray on the hosts of hosts.py, for tests: the first host is the head and runs no tasks, the others run them."""

import re
import time

PORT = 6379
WAIT = 180  # seconds: on a busy machine one import of Ray takes half a minute
STORE = 80 << 20  # bytes of each object store, which nothing here uses; 75 MiB is Ray's least
# How fast the head calls a silent host dead; Ray's own times are too long for a test.
HEALTH = {"RAY_health_check_initial_delay_ms": "2000", "RAY_health_check_period_ms": "1000",
          "RAY_health_check_timeout_ms": "3000", "RAY_health_check_failure_threshold": "5",
          "RAY_memory_monitor_refresh_ms": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_enable_open_telemetry": "0"}


class Ray:
    """The cluster. `cores` and `memory` (bytes) are those of each host that runs tasks; `variables`: of the environment
    of all tasks."""

    def __init__(self, environment, root, hosts, cores=1, memory=2 << 30, **variables):
        self.python, self.program = environment / "bin/python", environment / "bin/ray"
        if not self.program.exists():
            raise SystemExit(f"{environment} has no Ray; `./dev test` makes it")
        self.root, (self.head, *self.hosts) = root, hosts
        self.cores, self.memory, self.variables = cores, memory, {**HEALTH, **variables}
        self.address = f"{self.head.address}:{PORT}"
        root.mkdir()
        for host in hosts:
            self.boot(host)
        self.wait("all hosts are there", lambda: self.alive() == len(hosts), WAIT)

    def boot(self, host):
        """Starts Ray on a host that has just been made, or that was killed."""
        words = ["--head", f"--port={PORT}", "--num-cpus=0", "--include-dashboard=false"] if host is self.head else [
            f"--address={self.address}", f"--num-cpus={self.cores}"]
        # A host that was cut off for too long ends its Ray: it joins again as a new one.
        again = ["sh", "-c", 'while :; do "$@"; sleep 1; done', "sh"] if host is not self.head else []
        host.start([*again, self.program, "start", *words, f"--node-ip-address={host.address}", f"--memory={self.memory}",
                    f"--object-store-memory={STORE}", "--disable-usage-stats", "--block"],
                   self.root / f"{host.name}.log", **self.variables)
        if host is self.head:
            self.wait("the head answers", lambda: self.alive() == 1, WAIT)

    def alive(self):
        """Number of hosts that the head calls alive; 0: it does not answer."""
        told = self.head.run(self.python, "-c", "from ray._raylet import GcsClient\n"
                             f"nodes = GcsClient(address='{self.address}').get_all_node_info(timeout=2)\n"
                             "print(sum(node['state'] == 0 if isinstance(node, dict) else node.state == 0 "
                             "for node in nodes.values()))", check=False, timeout=WAIT, **self.variables)
        return int(told) if re.fullmatch(r"\d+", told) else 0

    def log(self):
        return "".join(path.read_text(errors="replace") for path in sorted(self.root.glob("*.log")))

    def wait(self, what, condition, seconds):
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise SystemExit(f"not within {seconds} s: {what}\n{self.log()[-4000:]}")
            time.sleep(0.2)
        return found
