#!/usr/bin/env python3
"""`pipe submit --on local` of a tiny pipeline that ends in `train`, with a trainer that follows instructions: the training
is one unit of one worker, goes on after a kill of that worker, and ends with `--cancel`.

    submit_run.py PIPE
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from train_run import attempts, check, pipeline, runs, support, trained, trainers_of

CORES, MEMORY = 3, 700 << 20
DONE, FAILED = 0, 1
PATIENCE = 60  # seconds


def submit(sandbox, *words):
    """A call whose messages are appended to the file `said`."""
    sandbox.write_file()
    with open(sandbox.root / "said", "ab") as said:
        return subprocess.Popen([support.PIPE, "submit", str(sandbox.file), "--work", str(sandbox.work), *words],
                                cwd=sandbox.root, env={**os.environ, "PIPE_LEASE": "0.2"}, stdin=subprocess.DEVNULL,
                                stdout=said, stderr=said)


def begin(sandbox):
    return submit(sandbox, "--on", "local", "--workers", "2", "--cores", str(CORES), "--memory", str(MEMORY))


def said(sandbox):
    """The messages of the calls and of the workers."""
    return support.read(sandbox.root / "said") + support.read(sandbox.work / "submit/workers.log")


def wait(sandbox, what, happens):
    until = time.monotonic() + PATIENCE
    while not happens():
        check(time.monotonic() < until, f"{what} does not happen\n{said(sandbox)}")
        time.sleep(0.02)


def ends(sandbox, process, code):
    try:
        process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, f"`pipe submit` does not end\n{said(sandbox)}")
    check(process.returncode == code, f"`pipe submit` ended with {process.returncode}\n{said(sandbox)}")


def at_work(sandbox):
    """The directory of the training, once it has a checkpoint of step 10, and the process of its trainer."""
    wait(sandbox, "a checkpoint", lambda: list(sandbox.out.glob("runs/*/checkpoints/10")))
    (directory,) = runs(sandbox)
    (trainer,) = trainers_of(directory)
    return directory, int(trainer)


def parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def of_run(sandbox):
    """The living processes that have the work directory in their command, and their groups' leaders."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(sandbox.work).encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


def restored(directory):
    """The steps from which trainers went on."""
    events = map(json.loads, (directory / "events.jsonl").read_text().splitlines())
    return [int(event["path"].rpartition("/")[2]) for event in events if event["kind"] == "restore"]


def names(sandbox):
    return {str(path.relative_to(sandbox.out)) for path in sandbox.out.rglob("*")
            if path.is_file() and ".pipe" not in path.parts and "logs" not in path.parts}


def killed(sandbox):
    """SIGKILL of the worker and of its trainer: another worker goes on from the checkpoint."""
    watch = begin(sandbox)
    directory, trainer = at_work(sandbox)
    check(json.loads((directory / "job.json").read_text())["threads"] == CORES, "the trainer has other cores than asked for")
    lease = json.loads((sandbox.work / "package/lease/train/-.json").read_text())
    check(lease["memory"] == MEMORY, f"the worker has other memory than asked for: {lease}")
    shown = sandbox.ok(command="status").out
    check("\n  train/-: " in shown and "\ntrain: running" in shown, f"`pipe status` does not tell of the training:\n{shown}")
    for process in (parent(trainer), trainer):
        os.kill(process, signal.SIGKILL)
    ends(sandbox, watch, DONE)
    check(trained(sandbox, directory) == 20 and attempts(directory) == 2, said(sandbox))
    check(restored(directory) == [10], f"the training did not go on from its checkpoint: {restored(directory)}")
    lines = (sandbox.work / "run.log").read_text().splitlines()
    check(sum("\tunit=train/-\t" in line and line.startswith("done\t") for line in lines) == 1, "not one training")
    wait(sandbox, "the end of all processes", lambda: not of_run(sandbox))
    check(sandbox.ok().of("jobs") == 0, "`pipe run` trains again")


def cancelled(sandbox):
    """--cancel: the trainer saves and ends, nothing is left, and the next call goes on."""
    watch = begin(sandbox)
    directory, _ = at_work(sandbox)
    ends(sandbox, submit(sandbox, "--cancel"), DONE)
    ends(sandbox, watch, FAILED)
    wait(sandbox, "the end of all processes", lambda: not trainers_of(directory) and not of_run(sandbox))
    check('"kind":"preempt"' in (directory / "events.jsonl").read_text(), "the trainer was not asked to stop")
    left = [name for name in ("submit.json", "lease/train/-.json") if (sandbox.work / "package" / name).exists()]
    check(not left and not (directory / "result.json").exists(), f"left: {left}")
    ends(sandbox, begin(sandbox), DONE)
    check(trained(sandbox, directory) == 20 and restored(directory)[0] >= 10, said(sandbox))


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    made = {}
    for scenario, behaviours in ((None, [{}]), (killed, [{"steps": 10, "then": "hang"}, {}]),
                                 (cancelled, [{"steps": 10, "then": "hang"}, {}])):
        with support.Sandbox() as sandbox:
            pipeline(sandbox)["config"] = {"preset": "tiny", "fake": behaviours}
            if scenario is None:
                sandbox.ok()
            else:
                scenario(sandbox)
            (directory,) = runs(sandbox)
            made[scenario] = {name.replace(directory.name, "train") for name in names(sandbox)}
        check(made[scenario] == made[None], f"other files than `pipe run`: {made[scenario] ^ made[None]}")
        if scenario:
            print(f"{scenario.__name__}: as it should be", flush=True)


if __name__ == "__main__":
    main()
