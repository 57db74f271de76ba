#!/usr/bin/env python3
"""The script of workers on this machine, with programs that end as a worker can.

    local_script.py ENGINE
"""

import ctypes
import os
import signal
import sys
import tempfile
from pathlib import Path

from engine import Cases, ThisMachine, Workers, check


def alive(process):
    """False also for a process that has ended and that nobody has waited for."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def cases(program, root):
    cases = Cases(program, "local", ThisMachine(), root)
    endless, other = cases.start("endless", workers=2), cases.start("lost")
    endless.wait("they run", lambda: len(cases.starts("endless")) == 2, 20)
    check(endless.state() == "going on: running", endless.state())
    endless.cancel()
    endless.wait("they end", endless.is_over, 20)
    check(cases.stops("endless") == 2, "a cancelled worker got no SIGTERM")
    check(not any(alive(process) for *_, process in cases.starts("endless")), "a cancelled worker lives")
    # The script dies: the job is over once its workers have ended.
    other.wait("it runs", lambda: cases.starts("lost"), 20)
    script = int(other.job.split(":")[1])
    for process in [script, *(int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline")
                              if f"{other.directory}/workers.sh".encode() in path.read_bytes())]:
        if alive(process):
            os.kill(process, signal.SIGKILL)
    check(other.state() == "going on: running", "a job whose worker lives is over")
    cases.go()
    other.wait("it ends", other.is_over, 20)
    cases.ends("once", cases.start("once"), 0, "ended with 75 (try again), started again, 1 of 100", starts=2)
    cases.ends("never", cases.start("never", starts=1), 75, starts=2)
    cases.ends("wrong", cases.start("wrong"), 65, "first line\nthe last line\n", starts=1)
    cases.ends("killed", cases.start("killed"), 0, "ended by signal 9, started again, 2 of 100", starts=3)
    elsewhere = Workers(program, "local", ThisMachine(), root)
    elsewhere.job = "vm-2:17:4711"
    said = elsewhere.host.run("sh", "-c", '"$@" 2>&1 || :', "sh", program, root, "local", "state", elsewhere.job)
    check(said == "the workers were started on vm-2; run this there", said)
    cases.say("as designed")


PR_SET_CHILD_SUBREAPER = 36


def main():
    # As the first process of many a container: it never waits for processes that have lost their parents.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as root:
        cases(Path(sys.argv[1]).absolute(), Path(root))


if __name__ == "__main__":
    main()
