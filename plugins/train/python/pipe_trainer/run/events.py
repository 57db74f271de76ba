"""The events of a run: JSON lines on a descriptor, and a short form on stderr for the log."""

import contextlib
import json
import os
import sys
import threading
import time

from ..atomic import finite
from ..objectives.registry import BESIDE, LOGGED

HEARTBEAT_SECONDS = 5.0
IN_THE_LOG = ("loss", "grad_norm", "tokens_per_s", "ppl", "bits_per_char", "nats_per_token", *LOGGED, *BESIDE,
              "name", "text", "path", "message", "from", "to")


class Events:
    """Threads may share it. If there is no descriptor, or its reader is gone, events go only to the log."""

    def __init__(self, descriptor=None, attempt=1, worker=0, log=sys.stderr):
        self._descriptor, self._attempt, self.worker, self._log = descriptor, attempt, worker, log
        self._lock = threading.Lock()
        self._sequence = 0
        self._listeners = []
        self.step = 0
        self.current_phase = "init"
        self._done = threading.Event()

    @classmethod
    def of_environment(cls, environ):
        number = environ.get("PIPE_EVENTS_FD", "")
        return cls(int(number) if number.isdecimal() and int(number) >= 3 else None,
                   int(environ.get("PIPE_ATTEMPT") or 1), int(environ.get("PIPE_WORKER_INDEX") or 0))

    def emit(self, kind, **members):
        with self._lock:
            self._sequence += 1
            event = {"v": 1, "kind": kind, "seq": self._sequence, "t": time.time(), "m": time.monotonic(),
                     "attempt": self._attempt, "worker": self.worker, "step": self.step, **members}
            self._write(json.dumps(finite(event), ensure_ascii=False, separators=(",", ":")) + "\n")
            if kind != "hb":
                self._say(kind, event)
        for listener in self._listeners:
            listener(event)

    def phase(self, name):
        self.current_phase = name
        self.emit("phase", name=name)

    def listen(self, listener):
        """Calls `listener` with each event from now on, on the thread that emits."""
        self._listeners.append(listener)

    def _write(self, line):
        data = line.encode("utf-8", "replace")
        while data and self._descriptor is not None:
            try:
                data = data[os.write(self._descriptor, data):]
            except InterruptedError:
                continue
            except OSError as error:
                self._descriptor = None
                self._print(f"events: nobody reads them any more ({error.strerror})")

    def _say(self, kind, event):
        parts = [f"{name} {short(event[name])}" for name in IN_THE_LOG if event.get(name) is not None]
        self._print(" ".join([f"{event['step']:>8} {kind}", *parts]))

    def _print(self, line):
        with contextlib.suppress(OSError):  # a log that cannot be written does not end the run
            print(line, file=self._log, flush=True)

    def start_heartbeat(self):
        def beat():
            while not self._done.wait(HEARTBEAT_SECONDS):
                self.emit("hb")
        threading.Thread(target=beat, name="heartbeat", daemon=True).start()

    def close(self):
        self._done.set()


class Warnings(Events):
    """Of a command for people: only warnings come through, because its channel is read at its end."""

    def emit(self, kind, **members):
        if kind == "warn":
            super().emit(kind, **members)


def short(value):
    return f"{value:.5g}" if isinstance(value, float) else str(value)


class Clock:
    """Measures the time of a run by buckets. One bucket runs at a time; a bucket inside another pauses it."""

    def __init__(self):
        self.seconds = {}
        self._names = ["init"]
        self._since = time.monotonic()

    def _turn(self):
        now = time.monotonic()
        self.seconds[self._names[-1]] = self.seconds.get(self._names[-1], 0.0) + now - self._since
        self._since = now

    @contextlib.contextmanager
    def enter(self, name):
        self._turn()
        self._names.append(name)
        try:
            yield
        finally:
            self._turn()
            self._names.pop()

    def become(self, name):
        """Sets the bucket that runs when no other does."""
        self._turn()
        self._names[0] = name

    def goodput(self):
        self._turn()
        total = sum(self.seconds.values())
        return {"productive": self.seconds.get("step", 0.0) / total if total else 0.0,
                "seconds": {name: round(value, 3) for name, value in sorted(self.seconds.items())}}
