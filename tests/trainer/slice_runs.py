"""A training on the machines of a slice, for tests: starts it, reads what it left on the disks and in the bucket, and
places a fault at a moment that it meant. CONTRACT.md, section 13; hosts.md."""

import json
import os
import signal
import sys
import time
import urllib.parse
from pathlib import Path

import replan_support as support
from fake_buckets import BUCKET

STAGES = ("join", "compile", "step", "parts", "marker", "publication")


def check(good, what):
    if not good:
        raise SystemExit(f"{os.path.basename(sys.argv[0])}: {what}")


class Host:
    """`pipe run` on one machine; `name` is that of the training."""

    def __init__(self, training, machine, number):
        self.training, self.machine, self.number = training, machine, number
        self.work = machine.disk / training.name
        self.said = training.root / f"{training.name}-said-{number}"
        self.rows = training.root / f"{training.name}-rows-{number}"
        self._process, self.codes = None, []

    def start(self):
        words = [support.PIPE, "run", self.training.file, "--work", self.work, *self.training.words]
        self._process = self.machine.start(words, self.said, PIPE_TRACE_ROWS=str(self.rows), **self.training.variables)

    def is_running(self):
        if self._process is not None and self._process.poll() is not None:
            self.codes.append(self._process.returncode)
            self._process = None
        return self._process is not None

    def ended_well(self):
        return not self.is_running() and self.codes[-1:] == [0]

    def stop(self):
        self._process.send_signal(signal.SIGTERM)

    def kill(self):
        self.machine.kill()
        while self.is_running():  # a program that was started a moment ago may only now come into the machine
            time.sleep(0.01)
            self.machine.kill()

    def text(self):
        return self.said.read_text() if self.said.exists() else ""

    def _disk(self):
        """The local run directory; absent: None."""
        return next((path for below in (".", "hosts/*") for path in self.work.glob(f"{below}/kept/train/runs/*")), None)

    def events(self, most=1 << 30):
        """The events of the attempts that this disk has seen, of the last `most` bytes."""
        disk = self._disk()
        path = disk / "events.jsonl" if disk else None
        if path is None or not path.exists():
            return []
        with open(path, "rb") as file:
            file.seek(max(path.stat().st_size - most, 0))
            lines = file.read().splitlines(True)
            events = [json.loads(line) for line in lines[most < file.tell():] if line.endswith(b"\n")]
            return [event for event in events if "attempt" in event and "t" in event]  # those of trainers

    def last_events(self):
        """For people: when, attempt, step, kind, name."""
        return [(time.strftime("%H:%M:%S", time.localtime(event["t"])), event["attempt"], event["step"], event["kind"],
                 event.get("name")) for event in self.events(1 << 14)[-12:]]

    def lose_disk(self):
        self.training.kept += self.events()
        self.machine.lose_disk()

    def files_of(self, step):
        """The files of this host's part of a checkpoint."""
        path = self._disk() / f"checkpoints/{step}.json"
        return json.loads(path.read_text())["files"] if path.exists() else []


class Training:
    """One training on some machines. `variables`: of the environment; `words`: of `pipe run`, on every host."""

    def __init__(self, name, root, file, bucket, machines, out, words=(), **variables):
        self.name, self.root, self.file, self.bucket, self.out = name, root, file, bucket, out
        self.words = [f"--set=stages.train.out=gs://{BUCKET}/{out}", *words]
        self.variables = variables
        self.kept = []  # events of disks that were lost
        self.tend = lambda: None  # called while something is waited for
        self._held = False
        self._place = None  # the run directory in the bucket
        self.hosts = [Host(self, machine, number) for number, machine in enumerate(machines)]

    def start(self):
        for host in self.hosts:
            host.start()

    def finish(self, seconds):
        """Waits until every host has ended with 0."""
        self.wait("all hosts end", lambda: not any(host.is_running() for host in self.hosts), seconds)
        check(all(host.codes[-1] == 0 for host in self.hosts), f"{self.name}: not all hosts end with 0\n{self.text()}")

    def pace(self, steps):
        """Holds the training while it is more than so many steps beyond the newest marker: a fault needs time."""
        objects = self.objects()
        newest = max(self.attempts(objects), default=0)  # a trainer that only starts must not be held: it never tells
        step = max((event["step"] for event in self.hosts[0].events(1 << 12)[-3:] if event["attempt"] == newest),
                   default=0)
        self.hold(step > max(self.markers(objects), default=0) + steps)

    def hold(self, held):
        if held or self._held:
            self.hosts[0].machine.hold("pipe_trainer", held)
        self._held = held

    def wait(self, what, condition, seconds):
        deadline = time.monotonic() + seconds
        while not condition():
            self.tend()
            check(time.monotonic() < deadline, f"{self.name}: waited {seconds} s until {what}\n{self.text()}")
            time.sleep(0.05)

    def text(self):
        return "".join(f"--- host {host.number}, exit codes {host.codes}\n{host.text()[-6000:]}{host.last_events()}\n"
                       for host in self.hosts)

    # --- Objects of the run.

    def forget(self):
        """Removes what it wrote to the bucket, which holds a descriptor for each object."""
        for name in json.loads(self.bucket.ask(f"/fake/objects?bucket={BUCKET}")):
            if name.startswith(f"{self.out}/"):
                self.bucket.ask(f"/storage/v1/b/{BUCKET}/o/{urllib.parse.quote(name, safe='')}", method="DELETE")

    def objects(self):
        """{name below the run directory: facts}"""
        found = json.loads(self.bucket.ask(f"/fake/objects?bucket={BUCKET}"))
        start = f"{self.out}/runs/train-"
        mine = {name: facts for name, facts in found.items() if name.startswith(start)}
        for name in mine:
            self._place = name[:name.index("/", len(start))]
        return {name[len(self._place) + 1:]: facts for name, facts in mine.items()}

    def read(self, name, objects=None):
        objects = self.objects() if objects is None else objects
        if name not in objects:
            return None
        data = self.bucket.ask(f"/fake/content?bucket={BUCKET}&name={self._place}/{name}")
        return None if data == b"absent" else json.loads(data)  # it was removed meanwhile

    def attempts(self, objects):
        """Numbers of all attempts."""
        return sorted(int(name[len("attempts/"):-len(".json")]) for name in objects
                      if name.startswith("attempts/") and not name.endswith(".end.json"))

    def markers(self, objects):
        """{step: name}"""
        names = [name for name in objects if name.startswith("checkpoints/") and name.count("/") == 2 and
                 len(name.split("/")[2]) == len("0123456789abcdef.json")]
        return {int(name.split("/")[1]): name for name in names}


def check_markers(training):
    """Every file of every part of a checkpoint with a marker is there. Returns the number of the markers."""
    objects = training.objects()
    found = 0
    for step, name in training.markers(objects).items():
        marker = training.read(name, objects)
        if marker is None:  # it was removed meanwhile
            continue
        found += 1
        check([part["host"] for part in marker["parts"]] == list(range(len(training.hosts))), f"{name}: {marker}")
        for part in marker["parts"]:
            for file in part["files"]:
                there = objects.get(f"checkpoints/{step}/{part['digest']}/{file['name']}", {"size": -1})
                check(there["size"] == file["bytes"], f"{name}: {file['name']} of host {part['host']} is {there}")
    return found


def figures(training):
    """{step: (loss, norm of the gradient)} as all hosts saw them; refuses two figures of one step."""
    found = {}
    for event in training.kept + [event for host in training.hosts for event in host.events()]:
        if event["kind"] == "step":
            found.setdefault(event["step"], set()).add((event["loss"], event["grad_norm"]))
    twice = [step for step, some in found.items() if len(some) > 1]
    check(not twice, f"{training.name}: steps {twice} differ when they are taken again")
    return {step: next(iter(some)) for step, some in found.items()}


def apart(one, other):
    """Returns the greatest relative differences of (losses, norms), of the steps of `one`."""
    return tuple(max(abs(pair[at] / other[step][at] - 1) for step, pair in one.items()) for at in range(2))


def samples(hosts):
    """{first sample of a step: {sample: checksum of its ids}}, of all hosts; refuses two contents of a sample."""
    steps = {}
    for host in hosts:
        for line in host.rows.read_text().splitlines():
            told = json.loads(line)
            step = steps.setdefault(told["first"], {})
            for sample, checksum in told["samples"]:
                check(step.setdefault(sample, checksum) == checksum, f"sample {sample} has two contents")
    return steps
