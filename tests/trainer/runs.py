"""Whole runs of the trainer as a process, started as the plugin starts it, with rows in a directory."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import places
import numpy as np
import tiny_tokenizer
import xla_flags
from packed_rows import stream_rows, write_packed

EOS, VOCAB, SEQ_LEN = 2, 61, 32
TINY = {"preset": "tiny", "model": {"layers": 2, "d": 32, "heads": 2, "ff": 64}, "batch": {"rows": 4},
        "schedule": {"name": "const"}}


def make_rows(directory, seed=0, rows=48, vocab=VOCAB, **more):
    """Packed rows from a stream of random ids. `more`: of write_packed."""
    make = np.random.default_rng(seed)

    def split(count):
        ids = make.integers(5, VOCAB, count * SEQ_LEN + 1)
        ids[make.random(len(ids)) < 0.05] = EOS
        return [list(stream_rows([int(token) for token in ids], SEQ_LEN))]
    return write_packed(directory, {"train": split(rows), "validation": split(5)}, SEQ_LEN, vocab, **more)


def small_pairs(pairs):
    """The configuration of whole runs of a small encoder and decoder."""
    return {**pairs, "model": {**pairs["model"], "kv_heads": 2}, "batch": {"rows": 4},
            "objective": {"name": "spans", "share": 0.25}, "schedule": {"name": "const"},
            "regularizers": {"dropout": 0.1}}


before_start = None  # called in the child


class WithRows(unittest.TestCase):
    """Tests over the same rows: `data`, in a directory `place` for their runs. `config`: of runs that name none."""

    config = None

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = Path(place.name)
        cls.data = cls.rows_at(cls.place / "rows")

    @classmethod
    def rows_at(cls, directory):
        return make_rows(directory)

    def run_here(self, name, data=None, config=None, **members):
        run = Run(self.place / name, data or self.data, config=config or self.config, **members)
        self.addCleanup(run.process.kill)
        return run

    def goes_on_bit_for_bit_and_trains_on_a_mesh(self, delta, init_from="", **members):
        """Returns a whole run. A killed one has its losses and its end, and one on a mesh of 4 its losses within
        `delta`. `init_from`: of all three."""
        begins = {"init_from": init_from} if init_from else {}
        whole = self.run_here("whole", **begins, **members)
        self.assertEqual(whole.end(), 0, whole.log_end())
        killed = self.run_here("killed", **begins)
        killed.wait_for("ckpt_commit", step=4)
        killed.kill()
        again = self.run_here("killed", **begins)
        self.assertEqual(again.end(), 0, again.log_end())
        self.assertGreaterEqual(again.of("restore")[0]["step"], 4)
        for step, loss in again.losses().items():
            self.assertEqual(loss, whole.losses()[step])
        self.assertEqual(again.result()["final"], whole.result()["final"])
        parted = self.run_here("parted", **begins, environ={"XLA_FLAGS": xla_flags.with_devices(4)},
                               config={**self.config, "mesh": {"fsdp": 2, "tensor": 2}})
        self.assertEqual(parted.end(), 0, parted.log_end())
        for step, loss in parted.losses().items():
            self.assertAlmostEqual(loss, whole.losses()[step], delta=delta)
        return whole


class WithTokenizer(WithRows):
    """The same over rows with the tokenizer of tiny_tokenizer, which exports need."""

    @classmethod
    def rows_at(cls, directory):
        return make_rows(directory, vocab=tiny_tokenizer.VOCAB, model=tiny_tokenizer.path().read_bytes())


def asked(module, *arguments, lines=None):
    """(exit code, standard output, standard error) of a module of the trainer. `lines`: its standard input, in bytes."""
    done = subprocess.run([sys.executable, "-m", f"pipe_trainer.{module}", *map(str, arguments)], input=lines,
                          capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(places.PACKAGE)})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Run:
    """A trainer process, and a thread that reads its events and keeps them in events.jsonl, as the stage does."""

    def __init__(self, place, data, config=None, environ=None, sets=(), program=("-m", "pipe_trainer"), **members):
        place = Path(place)
        place.mkdir(parents=True, exist_ok=True)
        self.run_dir = place / "run"
        job = {"pipe_job": 1, "name": "test", "run_dir": str(self.run_dir), "steps": 12, "log_every": 1,
               "eval_every": 0, "checkpoint_every": 4, "export": False, "threads": 1,
               "data": {"dir": str(data), "train": "train", "validation": "validation"},
               "config": TINY if config is None else config, **members}
        file = place / f"job-{time.monotonic_ns()}.json"
        file.write_text(json.dumps(job))
        self.error_file = place / "error.json"
        self.error_file.unlink(missing_ok=True)
        self.events, self._seen = [], threading.Condition()
        read, write = os.pipe()
        self.log = open(file.with_suffix(".log"), "w+b")
        self.process = subprocess.Popen(
            [sys.executable, *program, "--job", str(file), *(part for one in sets for part in ("--set", one))],
            pass_fds=(write,), stdout=self.log, stderr=subprocess.STDOUT, cwd=place, preexec_fn=before_start,
            env={**os.environ, "PYTHONPATH": str(places.PACKAGE), "PIPE_EVENTS_FD": str(write),
                 "PIPE_ERROR_FILE": str(self.error_file), **(environ or {})})
        os.close(write)
        self._reader = threading.Thread(target=self._read, args=(read,))
        self._reader.start()

    def _read(self, descriptor):
        self.run_dir.mkdir(exist_ok=True)
        with (open(descriptor, encoding="utf-8") as lines,
              open(self.run_dir / "events.jsonl", "a", encoding="utf-8", buffering=1) as kept):
            for line in lines:
                kept.write(line)
                with self._seen:
                    self.events.append(json.loads(line) if line.endswith("\n") else {"kind": "torn"})
                    self._seen.notify_all()
        with self._seen:
            self.events.append({"kind": "end"})
            self._seen.notify_all()

    def wait_for(self, kind, timeout=120, **members):
        """Waits for the first event with these members; fails if the trainer ends before."""
        def found():
            return next((event for event in self.events if event["kind"] in (kind, "end") and
                         (event["kind"] == "end" or members.items() <= event.items())), None)
        with self._seen:
            if not self._seen.wait_for(found, timeout) or found()["kind"] == "end":
                raise AssertionError(f"no event {kind} {members}; the log ends:\n{self.log_end()}")
            return found()

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.end()

    def end(self, timeout=200):
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        self.log.close()
        return code

    def log_end(self):
        return Path(self.log.name).read_text(errors="replace")[-3000:]

    def of(self, kind):
        return [event for event in self.events if event["kind"] == kind]

    def losses(self):
        return {event["step"]: event["loss"] for event in self.of("step")}

    def result(self):
        return json.loads((self.run_dir / "result.json").read_text())
