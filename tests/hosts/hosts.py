"""Hosts of an engine, for tests: machines of tests/trainer/machines.py that also have process ids, a boot id, /tmp and
/dev/shm of their own. Hosts share the directory of the network; those of the class Apart share no disk."""

import re
import subprocess
import sys
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("trainer", "cli")]

import machines  # noqa: E402

PROJECT = HERE.parent.parent
# The first process of a host waits for those whose parents have ended.
FIRST = """\
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
print("ready", flush=True)
while True:
    signal.sigwait({signal.SIGCHLD})
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


ENGINE = "engine"  # below the root of the network: the engine's own files, which hosts without a common disk see, too


class Host(machines.Machine):
    """One host. Its name is host-NUMBER; numbers count from 0."""

    def _seen(self):
        """Directories that it sees although they may be in the /tmp of this machine."""
        return [self.root, PROJECT]

    def _more_steps(self):
        return []

    def _hold(self, names):
        boot = self.disk / "boot_id"
        boot.write_text(f"{uuid.uuid4()}\n")
        own = self.root / f"tmp-{self.number}"
        own.mkdir()
        steps = [f"hostname host-{self.number}", f"mount --bind {names} /etc/hosts",
                 f"mount --bind {boot} /proc/sys/kernel/random/boot_id", "mount -t tmpfs shm /dev/shm",
                 f"mount -t tmpfs -o mode=1777 tmp {own}"]
        for kept in self._seen():
            if kept.is_relative_to("/tmp"):
                inside = own / kept.relative_to("/tmp")
                steps += [f"mkdir -p {inside}", f"mount --bind {kept} {inside}"]
        steps += [f"mount --move {own} /tmp", *self._more_steps(), 'exec "$@"']
        holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child",
                                   "--mount-proc", "sh", "-c", " && ".join(steps), "sh", sys.executable, "-ISc", FIRST],
                                  stdout=subprocess.PIPE, text=True)
        if holder.stdout.readline() != "ready\n":
            raise SystemExit(f"host {self.number} cannot be made")
        return holder, int(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text())

    @property
    def name(self):
        return f"host-{self.number}"

    def _inside(self, directory, *more):
        # nsenter itself would open the directory of this machine.
        return [*super()._inside("/", "--pid", *more), "sh", "-c", 'cd "$0" && exec "$@"', str(directory)]

    def there(self, path):
        """The path by which this machine reaches a file of the host."""
        return Path(f"/proc/{self._first}/root") / str(path).lstrip("/")

    def own_ids(self):
        """The ids that its living processes have on the host itself."""
        found = set()
        for process in self.processes():
            try:
                status = Path(f"/proc/{process}/status").read_text()
            except OSError:
                continue  # it has ended
            found.add(int(re.search(r"^NSpid:.*\s(\d+)$", status, re.MULTILINE)[1]))
        return found

    def run(self, *words, timeout=30, check=True, **variables):
        """Runs a program there to its end; returns what it printed, without the last line end."""
        done = subprocess.run([*self._inside(self.disk), *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, env=self.environment(**variables),
                              check=False)
        if check and done.returncode:
            raise SystemExit(f"{self.name}: {' '.join(map(str, words))}: exit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
        return done.stdout.rstrip("\n")


class Apart(Host):
    """A host that has no disk in common with others, beside the engine's own files. It can write below its disk, /tmp,
    /var/tmp, /dev/shm and these files alone."""

    def _seen(self):
        if not self.root.is_relative_to("/tmp"):
            raise SystemExit(f"{self.root}: is not below /tmp, which such a host has for its own")
        return [self.disk, self.root / ENGINE, PROJECT]

    def _more_steps(self):
        return ["mount -t tmpfs -o mode=1777 tmp /var/tmp", "mount -n -o remount,bind,ro /"]
