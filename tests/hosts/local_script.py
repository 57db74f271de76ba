#!/usr/bin/env python3
"""The script of workers on this machine, with programs that end as a worker can, and with a pipeline whose workers are
killed.

    local_script.py PIPE ENGINE
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from hosts import machines  # noqa: F401

from engine import Cases, ThisMachine, Workers, check  # noqa: E402
from engine_run import EngineRun, prepare  # noqa: E402


class LocalBench:
    def __init__(self):
        self.first, self.variables, self.options = ThisMachine(), {"PIPE_LEASE": "1"}, {}


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


def killed(pipe, program, root):
    """A worker is killed inside a unit; the script starts it again."""
    inputs, undisturbed = prepare(pipe, root)
    run = EngineRun(LocalBench(), "local", program, pipe, root / "run", inputs)
    run.start()
    deadline = time.monotonic() + 60
    for _ in range(2):
        while not (units := run.open_units(lambda _, process: alive(process))):
            check(time.monotonic() < deadline and not run.ended(), "no worker takes a unit")
            time.sleep(0.01)
        unit, process = units[0]
        os.kill(process, signal.SIGKILL)
        while alive(process):
            time.sleep(0.01)
        print(f"process {process} is killed inside {unit}")
    run.finish(undisturbed, 60)
    said = run.workers.messages().count("ended by signal 9, started again")
    check(said == 2, f"the script says {said} kills:\n{run.workers.messages()}")
    check(run.workers.state() == "over with 0: ended", run.workers.state())


def main():
    pipe, program = (Path(word).absolute() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as root:
        for part in ("cases", "killed"):
            (Path(root) / part).mkdir()
        cases(program, Path(root) / "cases")
        killed(pipe, program, Path(root) / "killed")


if __name__ == "__main__":
    main()
