"""Finds the TPU of this machine and the process that holds it. libtpu admits one process at a time, by a file lock."""

import os
import time
from importlib import util
from pathlib import Path

from ..exits import ENVIRONMENT, HELD, NO_DEVICE, RESUMABLE, Ended

LOCK = "/tmp/libtpu_lockfile"
NODES = ("accel[0-9]*", "vfio/[0-9]*")
# Each variable lets several processes use libtpu at once, each with its own chips.
SHARED = ("ALLOW_MULTIPLE_LIBTPU_LOAD", "TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_PROCESS_BOUNDS", "TPU_VISIBLE_CHIPS",
          "TPU_VISIBLE_DEVICES")
LOCKED_WORDS = ("already in use by", "multi-process lockfile")  # libtpu's, if another process has the lock
BUSY_WORDS = ("Device or resource busy",)  # the kernel's, if another process has the chip
POLL_SECONDS = 0.2
TELL_SECONDS = 600.0


def is_wanted(environ):
    """Returns whether JAX will ask for a TPU: libtpu is installed, and JAX_PLATFORMS allows it."""
    return "tpu" in (environ.get("JAX_PLATFORMS") or "tpu").split(",") and util.find_spec("libtpu") is not None


def nodes(dev="/dev"):
    return sorted(str(path) for pattern in NODES for path in Path(dev).glob(pattern))


def check(environ, dev="/dev"):
    """Raises Ended if the environment is for TPUs and this machine has none. JAX would silently use the CPU."""
    if environ.get("JAX_PLATFORMS") or not is_wanted(environ) or nodes(dev):
        return
    raise Ended(ENVIRONMENT, "this machine has no TPU (no /dev/accel0, no /dev/vfio/0), and the environment of the "
                             "trainer was made with `--extra tpu`; make one for this machine: pipe trainer setup, or "
                             "set JAX_PLATFORMS=cpu to use this one on the CPU")


def locked_by(lock=None, locks="/proc/locks"):
    """Returns the processes that hold a lock on the file. Does not open it: closing it would free a lock of this
    process."""
    try:
        at = os.stat(lock or LOCK)
        lines = Path(locks).read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    place = f"{os.major(at.st_dev):02x}:{os.minor(at.st_dev):02x}:{at.st_ino}"
    held = [words[4] for words in map(str.split, lines) if len(words) > 5 and words[1] != "->" and words[5] == place]
    return sorted({int(pid) if pid.isdecimal() else 0 for pid in held} - {os.getpid()})  # 0: not visible from here


def opened_by(places, proc="/proc"):
    """Returns the processes that have one of `places` open, among those that this user may inspect."""
    found = set()
    for entry in Path(proc).glob("[0-9]*/fd/*"):
        try:
            if os.readlink(entry) in places:
                found.add(int(entry.parts[-3]))
        except OSError:
            continue
    return sorted(found - {os.getpid()})


def named(pids, proc="/proc"):
    return ", ".join(one(pid, proc) for pid in pids or [0])


def one(pid, proc="/proc"):
    if not pid:
        return "a process that is not to be seen from here"
    try:
        words = Path(proc, str(pid), "cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    command = " ".join(b" ".join(words).decode(errors="replace").split())
    return f"process {pid} ({command[:160] or 'its command cannot be read'})"


def wait(environ, events, stop, lock=None, poll=POLL_SECONDS, tell=TELL_SECONDS):
    """Returns when no other process holds the lock. Raises Ended(42) if asked to stop meanwhile."""
    if not is_wanted(environ) or any(environ.get(name) for name in SHARED):
        return
    told = None
    while pids := locked_by(lock):
        if told is None:
            events.phase("wait")
        if told is None or time.monotonic() - told >= tell:
            told = time.monotonic()
            events.emit("warn", text=f"the TPU of this machine is held by {named(pids)}; waiting until it ends")
        if stop.asked:
            raise Ended(RESUMABLE, f"stopped while waiting for the TPU, which is held by {named(pids)}")
        time.sleep(poll)
    if told is not None:
        events.phase("init")


def refusal(text, lock=None, dev="/dev"):
    """Returns the problem with the chip in JAX's message, as Ended; None if the message is about something else."""
    locked, busy = (any(word in text for word in words) for words in (LOCKED_WORDS, BUSY_WORDS))
    pids = locked_by(lock) or (opened_by({*nodes(dev)}) if busy else [])
    if busy or (locked and pids):
        return Ended(HELD, f"the TPU of this machine is held by {named(pids)}; end it, or wait until it ends")
    if locked:
        place = lock or LOCK
        return Ended(NO_DEVICE, f"{place}: libtpu cannot lock this file, and no process is seen that has it locked; "
                                f"where it is another user's, remove it: sudo rm {place}")
    return None
