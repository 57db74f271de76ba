"""A TPU that another process holds, and a machine without one: the trainer names the holder, waits, and continues."""

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
from unittest import mock

import places
from pipe_trainer import exits
from pipe_trainer.run import chip
from pipe_trainer.run.signals import Stop

TPU = {}  # no JAX_PLATFORMS: any device of the machine
LOCKED = 'ABORTED: Internal error when accessing libtpu multi-process lockfile. Run "$ sudo rm /tmp/libtpu_lockfile".'
BUSY = "UNKNOWN: TPU initialization failed: open(/dev/accel0): Device or resource busy"
HOLDER = """import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.{call}(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("held", flush=True)
time.sleep(60)
"""


class Told:
    def __init__(self):
        self.kinds, self.texts = [], []

    def phase(self, name):
        self.kinds.append(name)

    def emit(self, kind, text):
        self.kinds.append(kind)
        self.texts.append(text)


class Chip(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.lock = str(self.place / "libtpu_lockfile")
        found = mock.patch.object(chip.util, "find_spec", lambda name: name == "libtpu" or None)
        found.start()
        self.addCleanup(found.stop)

    def holder(self, call="lockf"):
        """Locks the file as libtpu does; `flock` for a library that locks it another way."""
        process = subprocess.Popen([sys.executable, "-c", HOLDER.format(call=call), self.lock], stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b"held\n")
        return process


class ChipTest(Chip):
    def dev(self, *names):
        for name in names:
            (self.place / "dev" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.place / "dev" / name).touch()
        return str(self.place / "dev")

    def wait(self, told, stop=None, **more):
        chip.wait(TPU, told, stop or Stop(), lock=self.lock, poll=0.01, **more)

    def test_nobody_holds_a_lock_that_is_not_there_or_was_left_by_a_kill(self):
        self.assertEqual(chip.locked_by(self.lock), [])
        process = self.holder()
        process.kill()
        process.wait()
        self.assertTrue(os.path.exists(self.lock))
        self.assertEqual(chip.locked_by(self.lock), [])
        told = Told()
        self.wait(told)
        self.assertEqual(told.kinds, [])

    def test_the_holder_is_named_by_its_process_and_command(self):
        for call in ("lockf", "flock"):
            process = self.holder(call)
            self.assertEqual(chip.locked_by(self.lock), [process.pid], call)
            name = chip.named([process.pid])
            self.assertTrue(name.startswith(f"process {process.pid} ({sys.executable} -c import fcntl"), name)
            self.assertNotIn("\n", name)
            process.kill()
            process.wait()

    def test_looking_frees_no_lock_of_this_process(self):
        import fcntl
        with open(self.lock, "w") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.assertEqual(chip.locked_by(self.lock), [])
            other = subprocess.run([sys.executable, "-c", HOLDER.format(call="lockf"), self.lock], capture_output=True)
            self.assertIn(b"BlockingIOError", other.stderr)

    def test_locks_of_a_table_are_read_whatever_else_is_in_it(self):
        Path(self.lock).touch()
        at = os.stat(self.lock)
        place = f"{os.major(at.st_dev):02x}:{os.minor(at.st_dev):02x}:{at.st_ino}"
        table = self.place / "locks"
        for lines, pids in ((f"1: POSIX  ADVISORY  WRITE 812 {place} 0 EOF\n1: -> POSIX  ADVISORY  WRITE 813 {place} 0 EOF\n", [812]),
                            (f"1: OFDLCK ADVISORY  WRITE -1 {place} 0 EOF\n", [0]),
                            (f"2: FLOCK ADVISORY READ 9 {place}0 0 EOF\n\n: :\nx\n3: LEASE\n", []),
                            (f"1: POSIX ADVISORY WRITE {os.getpid()} {place} 0 EOF\n", []), ("", [])):
            table.write_text(lines)
            self.assertEqual(chip.locked_by(self.lock, table), pids, lines)
        self.assertEqual(chip.locked_by(self.lock, self.place / "none"), [])
        self.assertEqual(chip.named([0]), "a process that is not to be seen from here")
        self.assertEqual(chip.named([2**30]), f"process {2**30} (its command cannot be read)")

    def test_waits_until_the_holder_ends_and_tells_so(self):
        process, told = self.holder(), Told()
        threading.Timer(0.5, process.kill).start()
        since = time.monotonic()
        self.wait(told, tell=0.3)
        self.assertGreaterEqual(time.monotonic() - since, 0.4)
        self.assertEqual(told.kinds, ["wait", "warn", "warn", "init"])
        self.assertIn(f"held by process {process.pid} ({sys.executable}", told.texts[0])

    def test_a_stop_ends_the_wait_at_once(self):
        self.holder()
        stop = Stop()
        threading.Timer(0.1, lambda: setattr(stop, "asked", True)).start()
        since = time.monotonic()
        with self.assertRaises(exits.Ended) as ended:
            self.wait(Told(), stop)
        self.assertEqual(ended.exception.code, exits.RESUMABLE)
        self.assertLess(time.monotonic() - since, 5)

    def test_who_uses_no_tpu_or_shares_it_waits_for_nobody(self):
        self.holder()
        for environ in ({"JAX_PLATFORMS": "cpu"}, {"TPU_VISIBLE_CHIPS": "0"}, {"ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}):
            told = Told()
            chip.wait(environ, told, Stop(), lock=self.lock)
            self.assertEqual(told.kinds, [], environ)
        with mock.patch.object(chip.util, "find_spec", lambda name: None):
            chip.wait(TPU, told, Stop(), lock=self.lock)
        self.assertEqual(told.kinds, [])

    def test_what_libtpu_says_becomes_one_line_with_the_holder(self):
        process = self.holder()
        for text in (LOCKED, "The TPU is already in use by process with pid 17. Not attempting to load libtpu.so"):
            ended = chip.refusal(text, self.lock)
            self.assertEqual(ended.code, exits.HELD)
            self.assertIn(f"held by process {process.pid} (", str(ended))
        process.kill()
        process.wait()
        ended = chip.refusal(LOCKED, self.lock)
        self.assertEqual(ended.code, exits.NO_DEVICE)
        self.assertIn(f"sudo rm {self.lock}", str(ended))
        self.assertIsNone(chip.refusal("UNAVAILABLE: something else", self.lock))

    def test_a_chip_that_is_open_elsewhere_is_held(self):
        dev = self.dev("accel0")
        self.assertIn("not to be seen from here", str(chip.refusal(BUSY, self.lock, dev)))
        with open(f"{dev}/accel0", "rb") as node:
            process = subprocess.Popen(["sleep", "60"], stdin=node)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        ended = chip.refusal(BUSY, self.lock, dev)
        self.assertEqual(ended.code, exits.HELD)
        deadline = time.monotonic() + 10
        while f"process {process.pid} (sleep 60)" not in str(ended) and time.monotonic() < deadline:
            ended = chip.refusal(BUSY, self.lock, dev)  # until the process has become `sleep`
        self.assertIn(f"process {process.pid} (sleep 60)", str(ended))

    def test_a_machine_without_a_tpu_is_told_from_one_with(self):
        with self.assertRaises(exits.Ended) as ended:
            chip.check(TPU, self.dev("vfio/vfio"))
        self.assertEqual(ended.exception.code, exits.ENVIRONMENT)
        self.assertIn("this machine has no TPU", str(ended.exception))
        self.assertIn("pipe trainer setup", str(ended.exception))
        chip.check({"JAX_PLATFORMS": "cpu"}, self.dev())
        for node in ("vfio/0", "accel0"):
            chip.check(TPU, self.dev(node))


class ProcessTest(Chip):
    """The trainer as a process, with a module in its environment that looks like libtpu."""

    def setUp(self):
        super().setUp()
        fake = self.place / "packages"
        (fake / "libtpu").mkdir(parents=True)
        (fake / "libtpu/__init__.py").touch()
        (fake / "sitecustomize.py").write_text(f"from pipe_trainer.run import chip\nchip.LOCK = {self.lock!r}\n")
        self.job = self.place / "job.json"
        self.job.write_text(json.dumps({"pipe_job": 1, "run_dir": str(self.place / "run"), "threads": 0,
                                        "data": {"dir": "d", "train": "t", "validation": "v"}}))
        self.environ = {**os.environ, "PYTHONPATH": f"{fake}:{places.PACKAGE}", "PIPE_ERROR_FILE": str(self.place / "error"),
                        "PIPE_EVENTS_FD": "", "JAX_PLATFORMS": ""}

    def trainer(self):
        process = subprocess.Popen([sys.executable, "-m", "pipe_trainer", "--job", str(self.job)], env=self.environ,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "held by process" in line:
                return process, line
        self.fail("it did not wait")

    def test_sigterm_ends_the_wait(self):
        holder = self.holder()
        process, line = self.trainer()
        self.assertIn(f"process {holder.pid} (", line)
        since = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), exits.RESUMABLE)
        self.assertLess(time.monotonic() - since, 5)

    @unittest.skipIf(chip.nodes(), "this machine has a TPU")
    def test_goes_on_when_the_holder_has_ended(self):
        holder = self.holder()
        process, _ = self.trainer()
        self.assertIsNone(process.poll())
        holder.kill()
        process.stderr.read()
        self.assertEqual(process.wait(60), exits.ENVIRONMENT)
        self.assertIn("this machine has no TPU", json.loads((self.place / "error").read_text())["message"])


if __name__ == "__main__":
    unittest.main()
