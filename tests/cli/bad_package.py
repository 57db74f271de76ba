#!/usr/bin/env python3
"""Workers and `pipe submit` before a work package, a machine or a submission that is not as they expect.

    bad_package.py PIPE machine    a file beside the text that is another one on this machine, also later
    bad_package.py PIPE package    objects that are lost, damaged or of another plan
    bad_package.py PIPE submit     two calls at once; a scratch that cannot be made; a record of no use
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

from pipe_run import Run, corpus, fail, write_corpora
from pull import CONFIG, DONE, FAILED, TRY_AGAIN, Pulled, compare, end_of, ends
from scenarios import play, scenario
from submit_local import REFUSED, Submitted, expect, same
from workers import NO_INPUT, new_run, one_run

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


class Machine:
    """Workers on a machine where a file beside the text, or the source, has other bytes."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.inputs = write_corpora(root / "corpora", [corpus(seed=3, size=300_000)], "gzip")
        self.script = root / "tag.py"
        self.text = WITH_SCRIPT.format(url=self.inputs[0], script=self.script, python=sys.executable)
        self.replace("one")
        self.one = Run(program, root / "one", self.text)
        if self.one.finish() != 0:
            fail("a run of one process failed", self.one)

    def replace(self, tag):
        new = self.script.with_suffix(".new")
        new.write_text(SCRIPT.replace("{tag}", tag))
        new.rename(self.script)

    def refuses(self, shared, worker):
        ends(shared, worker, CONFIG, "stage 'tagged': ", str(self.script), "has other bytes here")
        if (shared.package / "end.json").exists() or holds_lease(shared):
            fail(f"a worker that does not fit left {shared.records()}", shared)

    @scenario
    def another_file_from_the_beginning(self):
        """With another file a worker does no unit, and plans nothing."""
        shared = Pulled(self.program, self.root / "other", self.text)
        units = shared.plan()
        self.replace("other")
        self.refuses(shared, shared.pull())
        self.replace("one")
        worker = shared.worker(units[0])
        worker.communicate(timeout=60)
        if worker.returncode != DONE:
            fail(f"with the file of the plan a worker ended with {worker.returncode}", shared)
        self.replace("other")
        before = [(shared.package / name).read_bytes() for name in shared.records()]
        self.refuses(shared, shared.pull())
        if before != [(shared.package / name).read_bytes() for name in shared.records()]:
            fail("a worker that does not fit has planned", shared)
        self.replace("one")
        ends(shared, shared.pull(), DONE)
        compare(self.one, shared)

    @scenario
    def another_file_while_a_worker_runs(self):
        shared = Pulled(self.program, self.root / "later", self.text)
        shared.plan()
        worker = frozen(shared, lambda: [*shared.package.glob("done/text/*.json")])
        self.replace("other")
        worker.send_signal(signal.SIGCONT)
        self.refuses(shared, worker)
        self.replace("one")
        ends(shared, shared.pull(), DONE)
        compare(self.one, shared)

    @scenario
    def another_source_on_one_host(self):
        """The host does nothing, and does not plan in turn with the other one."""
        other = write_corpora(self.root / "other_host", [corpus(seed=4, size=150_000)], "gzip")[0]
        if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
            fail("a mount namespace cannot be made here, so one host cannot have another source")
        shared = new_run(Pulled, self.program, self.root / "sources", self.inputs)
        shared.plan()
        host = ("unshare", "-rm", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(other), str(self.inputs[0]))
        ends(shared, shared.pull(front=host), NO_INPUT)
        ends(shared, shared.pull(), DONE)
        if f"{self.inputs[0]}: was changed since the plan, or this machine has another one" not in shared.messages():
            fail("the source is not named", shared)
        compare(one_run(self.program, self.root / "whole", self.inputs), shared)


class Package:
    """Objects of a work package that are lost, damaged or of another plan."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.inputs = write_corpora(root / "corpora", [corpus(seed=6, size=400_000)], "gzip")
        self.whole = one_run(program, root / "whole", self.inputs)

    def new(self, name):
        return new_run(Pulled, self.program, self.root / name, self.inputs)

    def first_unit_done(self, name):
        """A run whose first unit one worker has done."""
        shared = self.new(name)
        worker = shared.worker(shared.plan()[0])
        worker.communicate(timeout=60)
        return shared

    def ends_well(self, shared, *texts):
        ends(shared, shared.pull(), DONE, *texts)
        compare(self.whole, shared)

    @scenario
    def without_the_copy_of_the_log_the_plan_is_made_again(self):
        shared = self.new("log")
        shared.plan()
        for log in shared.package.glob("log/*"):
            log.unlink()
        self.ends_well(shared, "is not there", "the run is planned again")

    @scenario
    def a_damaged_lineage_costs_its_units_once(self):
        shared = self.first_unit_done("lineage")
        for lineage in shared.package.glob("lineage/*"):
            lineage.write_bytes(lineage.read_bytes()[:100])
        self.ends_well(shared, "cannot be read; its unit will run again")

    @scenario
    def outputs_on_another_disk_than_the_planner_are_named(self):
        shared = self.first_unit_done("elsewhere")
        (shared.work / "artifacts").rename(self.root / "artifacts")
        ends(shared, shared.pull(), FAILED, "a worker finished it, but its output is not here")
        if "its output is not here" not in end_of(shared).get("", ""):
            fail(f"the run ended with {end_of(shared)}", shared)
        shutil.rmtree(shared.work / "artifacts", ignore_errors=True)
        (self.root / "artifacts").rename(shared.work / "artifacts")
        shared.plan()
        self.ends_well(shared)

    @scenario
    def another_state_of_the_file_publishes_not_where_nobody_asks(self):
        """The file is planned again while a worker runs."""
        shared = self.new("state")
        shared.plan()
        worker = frozen(shared, lambda: holds_lease(shared))
        old, shared.out = shared.out, self.root / "state" / "other"
        shared.plan()
        worker.send_signal(signal.SIGCONT)
        ends(shared, worker, TRY_AGAIN, "another state of")
        self.ends_well(shared)
        shared.out = old
        if found := shared.published():
            fail(f"a worker published where the plan before said: {found}", shared)

    @scenario
    def a_package_that_is_removed_ends_its_worker(self):
        """Finished work in the work directory counts later."""
        shared = self.new("removed")
        shared.plan()
        worker = frozen(shared, lambda: holds_lease(shared))
        shutil.rmtree(shared.package)
        worker.send_signal(signal.SIGCONT)
        ends(shared, worker, NO_INPUT, "plan.json")
        shared.plan()
        self.ends_well(shared)

    @scenario
    def a_check_that_refuses_ends_the_run_as_a_failure(self):
        shared = new_run(Pulled, self.program, self.root / "check",
                         write_corpora(self.root / "check_corpora", [b"line\n" * 1000], "plain"))
        shared.plan()
        ends(shared, shared.pull(), FAILED, "error: stage 'text': split 'validation' has no records", "(unit text/-)")
        status = shared.show("status")
        if "failed: stage 'text': split" not in status or "(unit text/-)" not in status:
            fail(f"`pipe status` does not name the failure:\n{status}", shared)

    @scenario
    def the_end_of_a_replaced_plan_counts_for_nothing(self):
        """A lease that nobody can read is that of a dead worker."""
        shared = self.new("end")
        shared.plan()
        (shared.package / "end.json").write_text(json.dumps({"pipe_end": 1, "failures": [], "plan": "another"}))
        (shared.package / "lease" / "docs").mkdir(parents=True)
        (shared.package / "lease" / "docs" / "0000-*.json").write_bytes(b"\0" * 200_000)
        self.ends_well(shared)


class Submit:
    """`pipe submit` beside another call, with an impossible scratch, or before a record that nobody can use."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.inputs = write_corpora(root / "corpora", [corpus(seed=3, size=300_000)], "gzip")
        self.one = one_run(program, root / "one", self.inputs)

    def new(self, name):
        return new_run(Submitted, self.program, self.root / name, self.inputs)

    @scenario
    def two_calls_at_once_do_not_mix(self):
        """They have different values, in one work directory."""
        for turn in range(2):
            run = self.new(f"two-{turn}")
            first, second = run.out, self.root / f"two-{turn}" / "second"
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
                same(self.one, run)

    @scenario
    def workers_whose_scratch_cannot_be_made(self):
        """They do not start again and again."""
        run = self.new("scratch")
        (run.work.parent / "file").write_text("")
        expect(run, run.on_local("--scratch", run.work.parent / "file" / "scratch"), FAILED, "exit status 78")
        expect(run, run.on_local(), DONE)
        same(self.one, run)

    @scenario
    def a_record_that_nobody_can_use_is_named(self):
        """The message has the way out."""
        run = self.new("record")
        expect(run, run.on_local("--program", "/nonexistent/pipe"), FAILED)
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
        same(self.one, run)


def main():
    program, part = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as root:
        play({"machine": Machine, "package": Package, "submit": Submit}[part](program, Path(root)), sys.argv[3:])


if __name__ == "__main__":
    main()
