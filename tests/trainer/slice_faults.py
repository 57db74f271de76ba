"""Faults of hosts, each placed in a stage of an attempt.

A fault falls where it was meant: the host, and host 0 with it, are frozen, the stage is looked at again, and only then
the fault happens. If the stage is over by then, both go on, and the next attempt is waited for.

join         the host has shown its card, and no running attempt has its nonce
compile      its trainer compiles
step         its trainer has taken a step of this attempt
parts        some files of its part of a checkpoint are sent, its part record is not
marker       every host's part record of a checkpoint is there, the marker is not
publication  all trainers have ended well, result.json is not published
"""

import time

from slice_runs import check

KINDS = ("kill", "freeze", "cut", "bucket", "term", "notice")
BUCKET_ERRORS = ({"storage.objects.insert": ["return-503-after-commit", "return-0-after-commit", "return-503"]},
                 {"storage.objects.insert": ["return-reset-connection"] * 3,
                  "storage.objects.read": ["return-503"] * 3},
                 {"storage.objects.read": ["return-corrupted-data", "return-broken-stream-after-64K", "return-503"],
                  "storage.objects.list": ["return-503", "empty-page"]},
                 {"storage.objects.get": ["return-503"] * 2, "storage.objects.list": ["return-503"] * 2,
                  "storage.objects.insert": ["stall-for-2s-after-0K"]})
# In a stage of uploads: which files take longer, and how many milliseconds.
SLOWED = {"parts": ("/checkpoints/", 50), "publication": ("/export/", 500)}


class Slice:
    """Where a training is, as its bucket and its disks tell."""

    def __init__(self, training):
        self.training = training

    def stage(self, stage, host):
        """Returns a line about the stage that this host is in; None: it is in another one."""
        return getattr(self, f"_{stage}")(host)

    def _newest(self, objects):
        """(the newest attempt, whether it has ended)"""
        attempts = self.training.attempts(objects)
        if not attempts:
            return None, True
        number = attempts[-1]
        return (self.training.read(f"attempts/{number:05}.json", objects), f"attempts/{number:05}.end.json" in objects)

    def _join(self, host):
        objects = self.training.objects()
        card = self.training.read(f"hosts/{host.number}.json", objects)
        attempt, ended = self._newest(objects)
        if not card or not host.is_running() or card["trains"] or "over" in card:
            return None
        if attempt and not ended and card["nonce"] in attempt["nonces"] or (card.get("ended") or {}).get("code") == 0:
            return None
        return f"card {card['sign']} of this start, in no running attempt"

    def _events(self, host):
        """The events of the newest attempt on this disk, if its trainer runs."""
        events = host.events(1 << 16)
        if not events or not host.is_running():
            return []
        return [event for event in events if event["attempt"] == events[-1]["attempt"]]

    def _phase(self, host, name):
        """The events behind the last phase, if it is this one and the attempt runs."""
        events = self._events(host)
        at = max((at for at, event in enumerate(events) if event["kind"] == "phase"), default=None)
        if at is None or events[at]["name"] != name:
            return None
        objects = self.training.objects()
        number = self.training.attempts(objects)[-1]
        card = self.training.read(f"hosts/{host.number}.json", objects)
        running = events[at]["attempt"] == number and f"attempts/{number:05}.end.json" not in objects
        return events if running and card["trains"] == number else None

    def _compile(self, host):
        events = self._phase(host, "compile")
        return None if events is None else f"attempt {events[-1]['attempt']} compiles"

    def _step(self, host):
        events = self._phase(host, "step")
        steps = [event["step"] for event in events or [] if event["kind"] == "step"]
        return f"attempt {events[-1]['attempt']} has taken step {steps[-1]}" if steps else None

    def _sent(self):
        """(step, attempt) of the checkpoint that host 0 asks for, and the objects."""
        objects = self.training.objects()
        card = self.training.read("hosts/0.json", objects) or {}
        send = card.get("send")
        if not send or send["step"] in self.training.markers(objects):
            return None, objects
        return (send["step"], send["attempt"]), objects

    def _parts(self, host):
        send, objects = self._sent()
        if not send or not host.is_running() or f"checkpoints/{send[0]}/{send[1]:05}-{host.number}.json" in objects:
            return None
        card = self.training.read(f"hosts/{host.number}.json", objects) or {"local": []}
        part = next((one["part"] for one in card["local"] if (one["step"], one["attempt"]) == send), None)
        names = {name for name in objects if part and name.startswith(f"checkpoints/{send[0]}/{part}/")}
        files = host.files_of(send[0])
        if not 0 < len(names) < len(files):
            return None
        return f"{len(names)} of {len(files)} files of step {send[0]} are sent, without a record"

    def _marker(self, host):
        send, objects = self._sent()
        hosts = len(self.training.hosts)
        if not send or not host.is_running():
            return None
        if any(f"checkpoints/{send[0]}/{send[1]:05}-{number}.json" not in objects for number in range(hosts)):
            return None
        return f"{hosts} part records of step {send[0]}, and no marker"

    def _publication(self, host):
        objects = self.training.objects()
        attempt, ended = self._newest(objects)
        if ended or "result.json" in objects or not host.is_running():
            return None
        for other in self.training.hosts:
            end = (self.training.read(f"hosts/{other.number}.json", objects) or {}).get("ended")
            if not end or end["attempt"] != attempt["number"] or end["code"] != 0:
                return None
        written = sum(name.startswith("export/") or name in ("config.json", "job.json") for name in objects)
        return f"attempt {attempt['number']} has ended well on all hosts, {written} objects are published"


def strike(slice_, stage, kind, host, seconds, duration=0, errors=0, lost_disk=False):
    """Waits until the host is in this stage, and then the fault happens. `duration`: of a freeze or a cut. Returns a
    line about both. A killed or stopped host is not started again."""
    training, deadline = slice_.training, time.monotonic() + seconds
    if stage in SLOWED:  # else all files of a small model may be sent between two looks
        training.bucket.slow(*SLOWED[stage])
    try:
        return _strike(slice_, stage, kind, host, deadline, duration, errors, lost_disk)
    finally:
        if stage in SLOWED:
            training.bucket.slow("", 0)


def _strike(slice_, stage, kind, host, deadline, duration, errors, lost_disk):
    training, leader = slice_.training, slice_.training.hosts[0]
    while True:
        check(time.monotonic() < deadline, f"{training.name}: host {host.number} does not come to the stage "
                                           f"{stage}\n{training.text()}")
        check(host.is_running() or host.codes[-1:] != [0], f"{training.name}: host {host.number} has ended before the "
                                                           f"stage {stage}\n{training.text()}")
        training.tend()
        if slice_.stage(stage, host) is None:
            time.sleep(0.01)
            continue
        frozen = {host.machine, leader.machine}
        for machine in frozen:
            machine.freeze()
        told = slice_.stage(stage, host)
        if told is not None:
            happen(training, kind, host, errors, lost_disk)
            if kind == "freeze":
                frozen.discard(host.machine)
                if host is leader:
                    frozen.clear()
        for machine in frozen:
            machine.thaw()
        if told is None:
            time.sleep(0.02)
            continue
        if duration:
            time.sleep(duration)
            host.machine.thaw()
            host.machine.mend()
        return f"{kind} of host {host.number} in the stage {stage}: {told}"


def happen(training, kind, host, errors, lost_disk):
    if kind == "kill":
        host.kill()
        if lost_disk:
            host.lose_disk()
    elif kind == "cut":
        host.machine.cut()
    elif kind == "bucket":
        for operation, words in BUCKET_ERRORS[errors % len(BUCKET_ERRORS)].items():
            for word in words:
                training.bucket.fault(operation, word)
    elif kind == "term":
        host.stop()
    elif kind == "notice":
        host.machine.values["instance/preempted"] = "TRUE"
