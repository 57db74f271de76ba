#!/usr/bin/env python3
"""`pipe submit --on local`: the workers make the same bytes as one run, whatever becomes of the command that watches them.

    submit_local.py PIPE [SCENARIO...]
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pipe_run import Run, corpus, differences, fail, write_corpora
from scenarios import play, scenario
from workers import new_run, one_run

DONE, FAILED, REFUSED, INTERRUPTED, KILLED = 0, 1, 2, 130, -9


class Submitted(Run):
    def submit(self, *words, environment=()):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
        with open(self.root / "messages", "ab") as messages:
            begin = messages.tell()  # the process may have said something before anybody looks
            process = subprocess.Popen([self.program, "submit", str(self.file), "--work", str(self.work), "--set",
                                        f"out={self.out}", *words], env={**clean, **dict(environment)},
                                       stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, cwd=self.root)
        process.said = lambda: (self.root / "messages").read_bytes()[begin:].decode(errors="replace")
        return process

    def on_local(self, *words, **more):
        return self.submit("--on", "local", "--workers", "2", *words, **more)

    def package(self, name):
        return self.work / "package" / name


def expect(run, process, code, *texts):
    process.wait(timeout=90)
    said = process.said()
    if process.returncode != code or not all(text in said for text in texts):
        fail(f"`pipe submit` ended with {process.returncode}, expected {code} and {texts}:\n{said}", run)


def wait_for(run, what, happened):
    until = time.monotonic() + 60
    while not happened():
        if time.monotonic() > until:
            fail(f"{what} does not happen", run)
        time.sleep(0.02)


def detached(make):
    """Returns a run whose workers go on after Ctrl-C. `make(attempt)` makes one; a run may end before Ctrl-C."""
    for attempt in range(5):
        run = make(attempt)
        watch = run.on_local()
        wait_for(run, "the start of workers", lambda one=run: one.package("end.json").exists() or (
            one.package("submit.json").exists() and json.loads(one.package("submit.json").read_text())["job"]))
        watch.send_signal(signal.SIGINT)
        if watch.wait(timeout=90) == INTERRUPTED:
            return run
    return fail("each run ended before Ctrl-C", run)


def same(one, run):
    if found := differences(one.published(), run.published()):
        fail("submitted workers made other bytes than one run: " + "; ".join(found), run)
    if run.package("submit.json").exists():
        fail("submit.json is left", run)


class Scenarios:

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.inputs = write_corpora(root / "corpora", [corpus(seed=3, size=3_000_000), corpus(seed=4, size=1_000_000)], "gzip")
        self.one = one_run(program, root / "one", self.inputs)

    def new(self, name):
        return new_run(Submitted, self.program, self.root / name, self.inputs)

    def killed_watch(self, run, what, records):
        """Kills the command that watches the workers, once they left records."""
        watch = run.on_local()
        wait_for(run, what, lambda: [*run.package(".").glob(records)])
        watch.kill()
        watch.wait()

    @scenario
    def workers_make_what_one_run_makes(self):
        run = self.new("plain")
        expect(run, run.on_local(), DONE, "2 workers started by local", "report: ", "everything is done")
        same(self.one, run)
        page = Path(re.search(r"report: (\S+/report\.html)", run.messages())[1])
        if not all(text in page.read_text() for text in (">Done<", ">Hosts<", "pipe submit ", ">Workers busy<")):
            fail("the report of a run by workers has no hosts", run)
        last = json.loads(run.show("status", "--json"))
        if last["last_run"]["id"] != page.parent.name or last["last_run"]["outcome"] != "done" or last["workers"]["hosts"] == []:
            fail(f"`pipe status` tells {last}", run)
        expect(run, run.on_local(), DONE, "nothing to do")
        if not json.loads(run.show("status", "--json"))["workers"]["ended"]:
            fail("a plan that finds everything done says that the run goes on", run)
        if run.show("report").strip() != str(page) or ">Hosts<" not in page.read_text():
            fail("`pipe report` has another page", run)

    @scenario
    def ctrl_c_leaves_the_workers_alone(self):
        """The same command attaches, from two terminals, too."""
        run = detached(lambda attempt: self.new(f"attached-{attempt}"))
        if "the workers go on" not in run.messages():
            fail("Ctrl-C does not say how to attach", run)
        again = [run.on_local(), run.on_local()]
        for process in again:
            expect(run, process, DONE)
        same(self.one, run)

    @scenario
    def workers_that_were_ended_start_again(self):
        """A killed watch changes nothing; the next call starts the workers that somebody ended."""
        run = self.new("cancelled")
        self.killed_watch(run, "a lease", "lease/**/*.json")
        expect(run, run.submit("--cancel"), DONE)
        expect(run, run.submit("--cancel"), REFUSED, "no workers to end")
        expect(run, run.on_local(), DONE)
        same(self.one, run)
        # A call that was killed while it started workers leaves a record without a job.
        record = {"pipe_submit": 1, "engine": "local", "job": "", "directory": str(run.work / "submit"),
                  "host": "vm-2, process 7", "workers": 2}
        run.package("submit.json").write_text(json.dumps(record))
        expect(run, run.submit("--cancel"), DONE, "was ended")
        expect(run, run.on_local(), DONE, "nothing to do")

    @scenario
    def a_run_is_handed_on_to_workers_and_back(self):
        """Each is killed on its way."""
        run = self.new("handed_on")
        if run.finish("-j", "2", kill_at="partition.logged:4") != KILLED:
            fail("`pipe run` was not killed", run)
        self.killed_watch(run, "a result of a worker", "done/**/*.json")
        expect(run, run.submit("--cancel"), DONE)
        if run.finish("-j", "2") != 0:
            fail("`pipe run` does not go on", run)
        if found := differences(self.one.published(), run.published()):
            fail("a run that was handed on made other bytes: " + "; ".join(found), run)

    @scenario
    def workers_plan_no_further_than_asked(self):
        run = self.new("until")
        expect(run, run.on_local("--until", "text"), DONE, "everything is done")
        if {name.split("/")[0] for name in run.published()} != {"shuffled"}:
            fail(f"--until text published {sorted(run.published())}", run)
        expect(run, run.on_local(), DONE, "everything is done")
        same(self.one, run)

    @scenario
    def another_state_of_the_file_is_not_mixed_in(self):
        run = self.new("edited")
        watch = run.on_local()
        wait_for(run, "a lease", lambda: [*run.work.glob("package/lease/**/*.json")])
        text = run.file.read_text()
        run.file.write_text(text.replace("nfkc", "nfc"))
        other = run.on_local()
        other.wait(timeout=90)
        if other.returncode == DONE:
            print("the run ended before the edited file was submitted")
        elif other.returncode != REFUSED or "runs an earlier state" not in run.messages():
            fail(f"an edited file ended with {other.returncode}", run)
        run.file.write_text(text)
        watch.wait(timeout=90)

    @scenario
    def workers_that_cannot_start_are_told(self):
        """The command does not wait for ever. Options that are refused are the case cases/submit/mistakes.case."""
        run = self.new("no_program")
        expect(run, run.on_local("--program", "/nonexistent/pipe"), FAILED, "a worker said: ", "/nonexistent/pipe",
               "all workers ended before the run did")
        expect(run, run.on_local(), DONE)
        same(self.one, run)


def main():
    with tempfile.TemporaryDirectory() as directory:
        play(Scenarios(os.path.abspath(sys.argv[1]), Path(directory)), sys.argv[2:])


if __name__ == "__main__":
    main()
