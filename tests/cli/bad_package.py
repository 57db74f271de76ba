#!/usr/bin/env python3
"""Workers and `pipe submit` before a work package, a machine or a submission that is not as they expect.

    bad_package.py PIPE machine    a file beside the text that is another one on this machine, also later
    bad_package.py PIPE package    objects that are lost, damaged or of another plan
    bad_package.py PIPE submit     two calls at once; a time and a scratch that are none; a record of no use
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pipe_run import Run, corpus, differences, fail, write_corpora
from pull import CONFIG, DONE, FAILED, TRY_AGAIN, Pulled, compare, end_of, ends
from submit_local import REFUSED, Submitted, expect, same
from workers import NO_INPUT, new_run

WITH_SCRIPT = """\
pipe: 1
name: scripted
vars: {{ out: "" }}
limits: {{ memory: 1GiB }}
stages:
  source: {{ type: download, url: ["{url}"] }}
  lines: {{ type: decompress, input: source, partition: 48KiB, max_record_bytes: 64KiB }}
  tagged: {{ type: exec, input: lines, command: [{python}, "{script}"], files: ["{script}"], deterministic: true }}
  text: {{ type: write_tfds, input: tagged, name: tagged, version: 1.0.0, out: "${{out}}" }}
"""
SCRIPT = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(b'{tag} ' + line)\n"


def wait_until(run, happened):
    until = time.monotonic() + 60
    while not happened():
        if time.monotonic() > until:
            fail("what is waited for does not happen", run)
        time.sleep(0.002)


def frozen(shared, happened):
    """A worker that was stopped once something has happened."""
    worker = shared.pull()
    wait_until(shared, happened)
    worker.send_signal(signal.SIGSTOP)
    return worker


def holds_lease(shared):
    """A finished unit keeps its lease for a while: old views of other workers must meet it."""
    done = {path.relative_to(shared.package / "done") for path in shared.package.glob("done/*/*.json")}
    log = shared.log()
    return [path for path in shared.package.glob("lease/*/*.json")
            if path.relative_to(shared.package / "lease") not in done
            and not log.done(unit := re.escape(str(path.relative_to(shared.package / "lease").with_suffix(""))) + "$")
            and not log.ended(unit)]


def machine(program, root):
    inputs = write_corpora(root / "corpora", [corpus(seed=3, size=300_000)], "gzip")
    script = root / "tag.py"
    text = WITH_SCRIPT.format(url=inputs[0], script=script, python=sys.executable)

    def replace(tag):
        new = script.with_suffix(".new")
        new.write_text(SCRIPT.replace("{tag}", tag))
        new.rename(script)

    def refuses(shared, worker):
        ends(shared, worker, CONFIG, "stage 'tagged': ", str(script), "has other bytes here")
        if (shared.package / "end.json").exists() or holds_lease(shared):
            fail(f"a worker that does not fit left {shared.records()}", shared)

    replace("one")
    one = Run(program, root / "one", text)
    if one.finish() != 0:
        fail("a run of one process failed", one)

    # Another file from the beginning, and one where a worker would plan: it does neither.
    shared = Pulled(program, root / "other", text)
    units = shared.plan()
    replace("other")
    refuses(shared, shared.pull())
    replace("one")
    worker = shared.worker(units[0])
    worker.communicate(timeout=60)
    if worker.returncode != DONE:
        fail(f"with the file of the plan a worker ended with {worker.returncode}", shared)
    replace("other")
    before = [(shared.package / name).read_bytes() for name in shared.records()]
    refuses(shared, shared.pull())
    if before != [(shared.package / name).read_bytes() for name in shared.records()]:
        fail("a worker that does not fit has planned", shared)
    replace("one")
    ends(shared, shared.pull(), DONE)
    compare(one, shared)

    # Another file while a worker runs.
    shared = Pulled(program, root / "later", text)
    shared.plan()
    worker = frozen(shared, lambda: [*shared.package.glob("done/text/*.json")])
    replace("other")
    worker.send_signal(signal.SIGCONT)
    refuses(shared, worker)
    replace("one")
    ends(shared, shared.pull(), DONE)
    compare(one, shared)

    # One host has another source: it does nothing, and does not plan in turn with the other one.
    other = write_corpora(root / "other_host", [corpus(seed=4, size=150_000)], "gzip")[0]
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        fail("a mount namespace cannot be made here, so one host cannot have another source")
    shared = new_run(Pulled, program, root / "sources", inputs)
    shared.plan()
    host = ("unshare", "-rm", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(other), str(inputs[0]))
    ends(shared, shared.pull(front=host), NO_INPUT)
    ends(shared, shared.pull(), DONE)
    if f"{inputs[0]}: was changed since the plan, or this machine has another one" not in shared.messages():
        fail("the source is not named", shared)
    whole = new_run(Run, program, root / "whole", inputs)
    if whole.finish() != 0:
        fail("a run of one process failed", whole)
    compare(whole, shared)
    print("as designed")


def package(program, root):
    inputs = write_corpora(root / "corpora", [corpus(seed=6, size=400_000)], "gzip")
    whole = new_run(Run, program, root / "whole", inputs)
    if whole.finish() != 0:
        fail("a run of one process failed", whole)

    # The copy of the log is lost or damaged: the plan is made again.
    shared = new_run(Pulled, program, root / "log", inputs)
    shared.plan()
    for log in shared.package.glob("log/*"):
        log.unlink()
    ends(shared, shared.pull(), DONE, "is not there", "the run is planned again")
    compare(whole, shared)

    # A damaged lineage makes the records of its units unreadable once, and not again and again.
    shared = new_run(Pulled, program, root / "lineage", inputs)
    worker = shared.worker(shared.plan()[0])
    worker.communicate(timeout=60)
    for lineage in shared.package.glob("lineage/*"):
        lineage.write_bytes(lineage.read_bytes()[:100])
    ends(shared, shared.pull(), DONE, "cannot be read; its unit will run again")
    compare(whole, shared)

    # The outputs of a worker are not on the disk of the one that plans.
    shared = new_run(Pulled, program, root / "elsewhere", inputs)
    worker = shared.worker(shared.plan()[0])
    worker.communicate(timeout=60)
    (shared.work / "artifacts").rename(root / "artifacts")
    ends(shared, shared.pull(), FAILED, "a worker finished it, but its output is not here")
    if "its output is not here" not in end_of(shared).get("", ""):
        fail(f"the run ended with {end_of(shared)}", shared)
    shutil.rmtree(shared.work / "artifacts", ignore_errors=True)
    (root / "artifacts").rename(shared.work / "artifacts")
    shared.plan()
    ends(shared, shared.pull(), DONE)
    compare(whole, shared)

    # Another state of the file is planned while a worker runs: it does not publish where nobody asks for it.
    shared = new_run(Pulled, program, root / "state", inputs)
    shared.plan()
    worker = frozen(shared, lambda: holds_lease(shared))
    old, shared.out = shared.out, root / "state" / "other"
    shared.plan()
    worker.send_signal(signal.SIGCONT)
    ends(shared, worker, TRY_AGAIN, "another state of")
    ends(shared, shared.pull(), DONE)
    compare(whole, shared)
    shared.out = old
    if found := shared.published():
        fail(f"a worker published where the plan before said: {found}", shared)

    # The work package is removed while a worker runs; what is finished in the work directory counts later.
    shared = new_run(Pulled, program, root / "removed", inputs)
    shared.plan()
    worker = frozen(shared, lambda: holds_lease(shared))
    shutil.rmtree(shared.package)
    worker.send_signal(signal.SIGCONT)
    ends(shared, worker, NO_INPUT, "plan.json")
    shared.plan()
    ends(shared, shared.pull(), DONE)
    compare(whole, shared)

    # What a check refuses is refused again each time: the run ends as a failure that `pipe status` names.
    shared = new_run(Pulled, program, root / "check", write_corpora(root / "check_corpora", [b"line\n" * 1000], "plain"))
    shared.plan()
    ends(shared, shared.pull(), FAILED, "error: stage 'text': split 'validation' has no records", "(unit text/-)")
    status = subprocess.run([program, "status", str(shared.file), "--work", str(shared.work), "--set",
                             f"out={shared.out}"], capture_output=True, text=True, timeout=60, check=True).stdout
    if "failed: stage 'text': split" not in status or "(unit text/-)" not in status:
        fail(f"`pipe status` does not name the failure:\n{status}", shared)

    # The end of a plan that was replaced counts for nothing, and a foreign lease is that of a dead worker.
    shared = new_run(Pulled, program, root / "end", inputs)
    shared.plan()
    (shared.package / "end.json").write_text(json.dumps({"pipe_end": 1, "failures": [], "plan": "another"}))
    (shared.package / "lease" / "docs").mkdir(parents=True)
    (shared.package / "lease" / "docs" / "0000-*.json").write_bytes(b"\0" * 200_000)
    ends(shared, shared.pull(), DONE)
    compare(whole, shared)
    print("as designed")


def submit(program, root):
    inputs = write_corpora(root / "corpora", [corpus(seed=3, size=300_000)], "gzip")
    one = new_run(Run, program, root / "one", inputs)
    if one.finish() != 0:
        fail("a run of one process failed", one)

    # Two calls at once, with different values, in one work directory: none mixes with the other.
    for turn in range(2):
        run = new_run(Submitted, program, root / f"two-{turn}", inputs)
        first, second = run.out, root / f"two-{turn}" / "second"
        calls = {first: run.on_local(), second: run.on_local("--set", f"out={second}")}
        codes = {out: call.wait(timeout=90) for out, call in calls.items()}
        if DONE not in codes.values() or not set(codes.values()) <= {DONE, REFUSED}:
            fail(f"two calls at once ended with {codes}", run)
        for out, code in codes.items():
            run.out = out
            if code == REFUSED and run.published():
                fail("a call that was refused has published", run)
            if code == REFUSED:
                expect(run, run.on_local(), DONE)
            same(one, run)

    # A time that workers would refuse is refused before any of them starts.
    run = new_run(Submitted, program, root / "time", inputs)
    for time in ("-1m", "0", "soon", ""):
        expect(run, run.on_local("--for", time), REFUSED, "--for: is no time such as 90s")
    if run.package("plan.json").exists():
        fail("a call that was refused has planned", run)

    # Workers whose scratch can never be made are not started again and again.
    (run.work.parent / "file").write_text("")
    expect(run, run.on_local("--scratch", run.work.parent / "file" / "scratch"), FAILED, "exit status 78")
    expect(run, run.on_local(), DONE)
    same(one, run)

    # A record that nobody can use: it is named, with the way out.
    run = new_run(Submitted, program, root / "record", inputs)
    expect(run, run.on_local("--program", "/nonexistent/pipe"), 1)
    record = {"pipe_submit": 1, "engine": "local", "job": "vm-2:7:9", "directory": "/", "host": "vm-2, process 7",
              "workers": 2}
    for text, said in [("{", "submit.json: "), (json.dumps(record | {"engine": "other"}), "has no engine 'other'"),
                       (json.dumps(record), "were started on vm-2; run this there; if that machine is gone"),
                       (json.dumps(record | {"job": "7"}), "7: is no name of a job")]:
        run.package("submit.json").write_text(text)
        for words in (("--on", "local"), ("--cancel",)):
            expect(run, run.submit(*words), REFUSED, said, f"remove {run.package('submit.json')} and call again")
    run.package("submit.json").unlink()
    expect(run, run.on_local(), DONE)
    same(one, run)
    print("as designed")


def main():
    program, part = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as root:
        {"machine": machine, "package": package, "submit": submit}[part](program, Path(root))


if __name__ == "__main__":
    main()
