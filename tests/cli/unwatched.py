#!/usr/bin/env python3
"""Runs by workers that nobody watched to their end: `pipe status`, `pipe runs` and `pipe report` tell them all the same.

    unwatched.py PIPE
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pipe_run import Run, corpus, differences, hold, write_corpora
from pull import CONFIG, KILLED, Pulled
from replan_support import stat_tree
from submit_local import DONE, FAILED, Submitted, detached, expect, wait_for
from workers import new_run


class Looked(Submitted):
    """A submitted run at which somebody looks who may not write."""

    def looks(self):
        """What `status` and `runs` tell; they write nothing."""
        before = stat_tree(self.work)
        text, told = self.show("status"), json.loads(self.show("status", "--json"))
        runs = json.loads(self.show("runs", "--json"))
        hold("\n" in self.show("runs"), self, "`pipe runs` has no table")
        hold(stat_tree(self.work) == before, self, "a command that only looks wrote into the work directory")
        return text, told, runs

    def page(self):
        return Path(self.show("report").strip()).read_text()


def lives(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def failures(program, root):
    """Ctrl-C, the workers go on, a unit is given up, and the run ends as a failure."""
    text = corpus(seed=6, size=1_500_000)
    inputs = write_corpora(root / "corpora", [text, text, text], "gzip")
    good = inputs[1].read_bytes()
    inputs[1].write_bytes(good[: len(good) // 2])
    run = detached(lambda attempt: new_run(Looked, program, root / f"failed-{attempt}", inputs))
    wait_for(run, "the end of the run", run.package("end.json").exists)
    keeper = json.loads(run.package("submit.json").read_text())["job"].split(":")[1]
    wait_for(run, "the end of the workers", lambda: not lives(keeper))
    hold(run.log().last_run() == {}, run, "somebody watched the run")

    shown, told, runs = run.looks()
    for expected in (", `pipe submit ", "failed after ", "\nfailed: ", " (unit docs/0001-*)\n", "workers: the run has ended", "docs: failed"):
        hold(expected in shown, run, f"`pipe status` does not say {expected!r}:\n{shown}")
    hold(told["last_run"]["outcome"] == "failed" and not told["last_run"]["running"], run, f"`pipe status` tells {told}")
    hold([failure["unit"] for failure in told["workers"]["failures"]] == ["docs/0001-*"], run, f"`pipe status` tells {told}")
    hold([one["outcome"] for one in runs] == ["failed"] and runs[0]["command"].startswith("pipe submit "), run,
         f"`pipe runs` tells {runs}")
    before = {path for path in run.work.rglob("*")}
    page = run.page()
    hold(">Failed<" in page and "docs/0001-*" in page, run, "the report does not tell the failure")
    hold({path.name for path in run.work.rglob("*")} - {path.name for path in before} <= {"report.html"}, run,
         "`pipe report` wrote more than its page")

    # The next call writes the end into the log, and goes on.
    inputs[1].write_bytes(good)
    expect(run, run.on_local(), DONE, "report of the run before: ", "everything is done")
    _, _, runs = run.looks()
    hold([one["outcome"] for one in runs] == ["done", "failed"] and all("report" in one for one in runs), run,
         f"after the next call `pipe runs` tells {runs}")
    alone = new_run(Run, program, root / "alone", inputs)
    hold(alone.finish() == 0, alone, "the run of one process failed")
    found = differences(alone.published(), run.published())
    hold(not found, run, "other bytes: " + "; ".join(found))


def planned(program, root):
    """A run that waits for workers, and one that another plan replaces."""
    inputs = write_corpora(root / "corpora", [corpus(seed=7, size=300_000)], "gzip")
    run = new_run(Looked, program, root / "planned", inputs)
    words = [program, "plan", str(run.file), "-o", str(run.package("")), "--work", str(run.work), "--set", f"out={run.out}"]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    shown, told, runs = run.looks()
    hold("has not ended, and waits for workers" in shown and [one["outcome"] for one in runs] == ["waiting"], run,
         f"a run without workers:\n{shown}{runs}")
    hold(">Unfinished<" in run.page(), run, "the report of a run without workers")
    text = run.file.read_text()
    run.file.write_text(text.replace("nfkc", "nfc"))
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    shown, told, runs = run.looks()
    hold([one["outcome"] for one in runs] == ["waiting", "cancelled"], run, f"a run that was replaced: {runs}")
    hold(told["last_run"]["outcome"] == "waiting" and "ended" not in told["last_run"], run, f"`pipe status` tells {told}")
    expect(run, run.on_local(), DONE, "everything is done")
    _, _, runs = run.looks()
    hold([one["outcome"] for one in runs] == ["done", "cancelled"], run, f"after the end: {runs}")


def taken_over(program, root):
    """`pipe run` ends a run whose worker died and left its lease: the workers' run does not go on for ever."""
    inputs = write_corpora(root / "corpora", [corpus(seed=8, size=100_000)], "gzip")
    run = new_run(Looked, program, root / "taken_over", inputs)
    subprocess.run([program, "plan", str(run.file), "-o", str(run.package("")), "--work", str(run.work), "--set",
                    f"out={run.out}"], check=True, capture_output=True, timeout=60)
    unit = json.loads(run.package("plan.json").read_text())["units"][-1]["unit"]
    lease = run.package(f"lease/{unit}.json")
    lease.parent.mkdir(parents=True)
    lease.write_text('{"pipe_unit_lease":1,"who":"vm-9, process 7"}')
    _, _, runs = run.looks()
    hold([one["outcome"] for one in runs] == ["running"], run, f"a worker has the lease of {unit}: {runs}")
    hold(run.finish() == 0, run, "`pipe run` failed")
    _, told, runs = run.looks()
    hold([one["outcome"] for one in runs] == ["done", "cancelled"] and told["last_run"]["outcome"] == "done", run,
         f"after `pipe run`: {runs}")


class Deadly(Pulled, Submitted):
    """Workers by hand and by `pipe submit`, with the work package of the former."""

    def leases(self):
        place = self.package / "lease"
        return {str(path.relative_to(place)).removesuffix(".json") for path in place.rglob("*.json")}


def coming_back(program, root):
    """Another `pipe submit` frees the open units of dead workers. A worker that was only cut off may come back with an old
    view, so the leases of units that are done stay."""
    inputs = write_corpora(root / "corpora", [corpus(seed=seed, size=100_000) for seed in (6, 8, 9)], "gzip")
    run = new_run(Deadly, program, root / "coming_back", inputs)
    run.plan()
    hold(run.pull(kill_at="shard.committed:1").wait(timeout=60) == KILLED, run, "a worker was not killed in a shard")
    before = run.leases()
    expect(run, run.on_local("-o", str(run.package), "--program", "/nonexistent/pipe"), FAILED, "all workers ended before")
    offered = {unit["unit"] for unit in json.loads((run.package / "plan.json").read_text())["units"]}
    hold(before & offered and before - offered, run, f"open and finished units: {before}, offered: {offered}")
    hold(run.leases() == before - offered - {"-"}, run, f"of the leases {before} with {offered} offered stay {run.leases()}")
    expect(run, run.on_local("-o", str(run.package), environment={"PIPE_LEASE": "0.2"}), DONE, "everything is done")
    hold(not run.leases(), run, f"the end of the run leaves the leases {run.leases()}")
    alone = new_run(Run, program, root / "alone", inputs)
    hold(alone.finish() == 0, alone, "the run of one process failed")
    found = differences(alone.published(), run.published())
    hold(not found, run, "other bytes: " + "; ".join(found))


def planning(program, root):
    """Planning ends each worker: the others say so in one line and end, and the next `pipe submit` goes on."""
    inputs = write_corpora(root / "corpora", [corpus(seed=6, size=100_000)], "gzip")
    run = new_run(Deadly, program, root / "deadly", inputs)
    run.plan()
    for _ in range(6):
        worker = run.pull(kill_at="sidecars.committed:1")
        hold(worker.wait(timeout=60) == KILLED, run, f"a worker ended with {worker.returncode}")
    before = len(run.messages())
    late = [run.pull(), run.pull()]
    codes = [worker.wait(timeout=60) for worker in late]
    said = [line for line in run.messages()[before:].splitlines() if "error" in line]
    hold(codes == [CONFIG, CONFIG], run, f"workers ended with {codes}")
    hold(len(said) == 2 and all("planning: 6 workers ended without an answer" in line and "`pipe submit`" in line
                                for line in said), run, f"not one clear line for each worker: {said}")
    environment = {"PIPE_LEASE": "0.2"}
    # Its own plan does what is left, and that is the end of the run.
    expect(run, run.on_local("-o", str(run.package), environment=environment), DONE, "report of the run before: ",
           "nothing to do")
    runs = json.loads(run.show("runs", "--json"))
    hold([one["outcome"] for one in runs] == ["done"], run, f"`pipe runs` tells {runs}")
    # Workers of an engine end in the same way, and the call that watches them says why.
    watched = new_run(Submitted, program, root / "watched", inputs)
    expect(watched, watched.on_local(environment={**environment, "PIPE_KILL_AT": "sidecars.committed:1"}), FAILED,
           "planning: 6 workers ended without an answer", "all workers ended before the run did",
           "the same command continues")
    expect(watched, watched.on_local(environment=environment), DONE, "nothing to do")
    alone = new_run(Run, program, root / "alone", inputs)
    hold(alone.finish() == 0, alone, "the run of one process failed")
    for one in (run, watched):
        found = differences(alone.published(), one.published())
        hold(not found, one, "other bytes: " + "; ".join(found))


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        for part in (failures, planned, taken_over, planning, coming_back):
            (root := Path(directory) / part.__name__).mkdir()
            part(program, root)
            print(f"ok: {part.__name__}", flush=True)


if __name__ == "__main__":
    main()
