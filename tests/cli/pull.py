#!/usr/bin/env python3
"""Workers that take units until the run has ended make the same bytes as one run, and nobody plans for them.

    pull.py PIPE kills      three workers, killed at commit points, from outside and frozen; each is started again
    pull.py PIPE cuts       the same with one large input, which is scanned while its first partitions are made
    pull.py PIPE failures   a unit that fails everywhere, a unit that ends its workers, workers that do not fit the plan
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pipe_run import Run, corpus, differences, fail, write_corpora
from scenarios import play, scenario
from workers import NO_INPUT, Shared, lines_of, new_run, one_run

DONE, FAILED, TRY_AGAIN, CONFIG, KILLED = 0, 1, 75, 78, -9
STOPPED_EARLY = -15  # before the program watches for signals
STOPPED_TWICE = 143  # the second SIGTERM ends it at once
POINTS = ("object.written", "object.synced", "object.visible", "partition.committed", "partition.logged",
          "input.ended", "cuts.logged", "shard.committed", "shard.logged", "names.listed",
          "manifest.committed", "artifact.published")
UNIT_POINTS = ("partition.committed", "partition.logged", "input.ended", "shard.committed", "shard.logged")
PERIOD = "0.2"  # seconds between two signs of life


class Pulled(Shared):
    """A run whose workers plan, too."""

    def pull(self, *options, kill_at=None, period=PERIOD, front=()):
        """`front`: a command that runs the worker."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
        environment["PIPE_LEASE"] = period
        if kill_at:
            environment["PIPE_KILL_AT"] = kill_at
        with open(self.root / "messages", "ab") as messages:
            return subprocess.Popen([*front, self.program, "worker", "--plan", str(self.package), "--next", "-j", "1",
                                     "--scratch", str(self.root), *options],
                                    env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)

    def records(self):
        return sorted(str(path.relative_to(self.package)) for path in self.package.rglob("*.json")
                      if not path.is_relative_to(self.package / "history"))


def compare(undisturbed, shared):
    found = differences(undisturbed.published(), shared.published())
    if found:
        fail("workers made other bytes than one run: " + "; ".join(found), shared)
    # A worker that was frozen may tell what another one has told before, after the end.
    late = [name for name in shared.records() if name.startswith("done/")]
    if (left := shared.records()) != [*late, "end.json", "plan.json"]:
        fail(f"records are left: {left}", shared)
    if json.loads((shared.package / "end.json").read_text())["failures"]:
        fail("the run ended with failures", shared)
    lines = len(shared.log().lines)
    if shared.finish() != 0 or len(shared.log().lines) > lines + 2 + len(late):
        fail("`pipe run` found something to do after the workers", shared)


def check_history(shared, ends):
    """What the workers did is known, whatever killed them: each unit, those who lost a lease, and the same on the page."""
    told = json.loads(shared.show("status", "--json"))["workers"]
    host, = told["hosts"]
    units = {fields["unit"] for kind, fields in shared.log().lines if kind in ("done", "end")}
    results = {entry["unit"] for path in shared.package.glob("history/*/*.json")
               for entry in json.loads(path.read_text())["results"]}
    if missing := units - results:
        fail(f"the history does not tell of {sorted(missing)}", shared)
    # A unit that reads a whole input, or writes several shards, has several lines.
    least = {re.sub(r"\.s\d+-of-.*", "", unit) for unit in units if not unit.startswith("docs/")}
    if host["units"] < len(least) or not 0 < told["utilisation"] <= 1:
        fail(f"`pipe status` tells {told}", shared)
    ends["lost"] = host["lost"]
    page = Path(shared.show("report").strip()).read_text()
    if ">Hosts<" not in page or f"<td>{host['units']}</td>" not in page:
        fail("`pipe report` has no table of hosts", shared)
    return f"{host['units']} units by {host['workers']} workers, {host['twice']} done twice, {host['lost']} lost"


def work_off(shared, chance, deaths, most_seconds=100):
    """Three workers, each started again until the run has ended."""
    running, ends, started = [], Counter(), 0
    until = time.monotonic() + most_seconds
    frozen = None
    while True:
        if time.monotonic() > until:
            fail(f"the run did not end: {shared.records()}", shared)
        while len(running) < 3:
            # One in three dies in no plan: six that die one after the other while they plan end the run.
            started += 1
            points = POINTS if started % 3 else UNIT_POINTS
            dies = chance.random() < deaths
            running.append(shared.pull(kill_at=f"{chance.choice(points)}:{chance.randrange(1, 4)}" if dies else None))
        if frozen is None and chance.random() < deaths / 4:
            frozen = (chance.choice(running), time.monotonic() + chance.uniform(0.5, 2))
            frozen[0].send_signal(signal.SIGSTOP)
            ends["frozen"] += 1
        elif frozen and time.monotonic() > frozen[1]:
            frozen[0].send_signal(signal.SIGCONT)
            frozen = None
        elif chance.random() < deaths / 8:
            victim = chance.choice(running)
            victim.send_signal(chance.choice((signal.SIGKILL, signal.SIGTERM)))
            ends["from outside"] += 1
        for process in [*running]:
            try:
                process.wait(timeout=0.03)
            except subprocess.TimeoutExpired:
                continue
            running.remove(process)
            if frozen and frozen[0] is process:
                frozen = None
            ends[process.returncode] += 1
            if process.returncode == DONE:
                if frozen:
                    frozen[0].send_signal(signal.SIGCONT)
                for other in running:
                    if other.wait(timeout=60) not in (DONE, KILLED, STOPPED_EARLY, STOPPED_TWICE, TRY_AGAIN):
                        fail(f"a worker ended with {other.returncode} after the run", shared)
                # A worker that was killed after the end of the run leaves leases, which nobody needs.
                for left in shared.package.rglob("lease/**/*.json"):
                    left.unlink()
                return ends
            if process.returncode not in (KILLED, STOPPED_EARLY, STOPPED_TWICE, TRY_AGAIN):
                fail(f"a worker ended with {process.returncode}", shared)


def kills(program, root, period=PERIOD):
    inputs = write_corpora(root / "corpora", [corpus(seed=3, size=2_000_000) * 3, corpus(seed=4, size=1_000_000) * 3], "gzip")
    undisturbed = one_run(program, root / "one", inputs, "-j", "2")
    total = Counter()
    for seed in range(3):
        shared = new_run(Pulled, program, root / f"many-{seed}", inputs)
        shared.plan()
        ends = work_off(shared, random.Random(seed), deaths=0.9)
        told = check_history(shared, ends)
        compare(undisturbed, shared)
        print(", ".join(f"{number} {code}" for code, number in ends.items()) + f"; {told}")
        total += ends
    if total[KILLED] < 6 or total["frozen"] < 2:
        fail(f"too few kills: {total}", shared)
    if total["lost"] == 0:  # a worker that is killed between two units loses none
        fail(f"no lease was lost: {total}", shared)


def cuts(program, root):
    inputs = write_corpora(root / "corpora", [corpus(seed=8, size=400_000) * 84], "xz, quick blocks")
    undisturbed, shared = (new_run(kind, program, root / name, inputs) for kind, name in ((Run, "one"), (Pulled, "many")))
    for run in (undisturbed, shared):
        run.file.write_text(run.file.read_text().replace("partition: 48KiB", "partition: 2MiB"))
    if undisturbed.finish("-j", "2") != 0:
        fail("a run of one process failed", undisturbed)
    shared.plan()
    ends(shared, shared.pull(kill_at="cuts.logged:2"), KILLED)
    first = sorted(path.name for path in shared.package.glob("done/docs/*"))
    if not first or not all(name.startswith("0000-*.") for name in first):
        fail(f"the first scan told {first}", shared)
    total = work_off(shared, random.Random(2), deaths=0.5)
    found = [fields for kind, fields in shared.log().lines if kind == "cuts"]
    if "partitions" in found[0] or "partitions" not in found[-1]:
        fail(f"the log has the cuts {found}", shared)
    compare(undisturbed, shared)
    # A planner that was killed before it removed the results has logged them, and the next one does so again.
    lines = [set(map(repr, lines_of(run, "docs"))) for run in (undisturbed, shared)]
    if lines[0] != lines[1]:
        fail(f"the lines of the logs differ: {lines[0] ^ lines[1]}", shared)
    print(f"{len(found)} lines about cuts; " + ", ".join(f"{number} {code}" for code, number in total.items()))


def ends(shared, process, code, *texts):
    """Waits for a worker, which ends with this code and says these texts."""
    before = len(shared.messages())
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        fail("a worker does not end", shared)
    said = shared.messages()[before:]
    if process.returncode != code or not all(text in said for text in texts):
        fail(f"a worker ended with {process.returncode}, expected {code} and {texts}:\n{said}", shared)


def end_of(shared):
    return {failure["unit"]: failure["why"]
            for failure in json.loads((shared.package / "end.json").read_text())["failures"]}


class Failures:
    """Each scenario has a directory of its own."""

    def __init__(self, program, root):
        self.program, self.base, self.root = program, root, root
        self.short, self.long = corpus(seed=6, size=200_000), corpus(seed=3, size=2_000_000)

    def begin(self, name):
        """Makes the directory of the scenario; returns its arguments: none."""
        self.root = self.base / name
        self.root.mkdir()
        return ()

    def planned(self, inputs):
        shared = new_run(Pulled, self.program, self.root / "many", inputs)
        shared.plan()
        return shared

    def corpora(self, *texts):
        return write_corpora(self.root / "corpora", texts, "gzip")

    def one(self, inputs):
        return one_run(self.program, self.root / "one", inputs)

    @scenario
    def a_unit_that_fails_everywhere_is_given_up(self):
        """The others are done, and the run ends."""
        inputs = self.corpora(*[self.short] * 3)
        good = inputs[1].read_bytes()
        inputs[1].write_bytes(good[: len(good) // 2])
        shared = self.planned(inputs)
        workers = [shared.pull() for _ in range(2)]
        for worker in workers:
            ends(shared, worker, FAILED)
        if list(end_of(shared)) != ["docs/0001-*"] or "is given up after 3 attempts" not in shared.messages():
            fail(f"the run ended with {end_of(shared)}", shared)
        if shared.log().done("docs/0002-") == 0 or shared.log().done("text/0000-") == 0:
            fail("the units of other inputs were not done", shared)
        ends(shared, shared.pull(), FAILED, "(unit docs/0001-*)")  # a worker that comes late says the same
        # The file is mended, and the same plan goes on.
        inputs[1].write_bytes(good)
        if not shared.plan():
            fail("after the mend nothing is offered", shared)
        ends(shared, shared.pull(), DONE)
        compare(self.one(inputs), shared)

    @scenario
    def a_unit_that_ends_each_worker_is_given_up(self):
        shared = self.planned(self.corpora(self.short))
        for _ in range(6):
            ends(shared, shared.pull(kill_at="partition.committed:1"), KILLED)
        ends(shared, shared.pull(), FAILED, "too little memory")
        if list(end_of(shared)) != ["docs/0000-*"]:
            fail(f"the run ended with {end_of(shared)}", shared)

    def frozen(self):
        """A run whose two workers were stopped once a partition was there; its inputs, its workers."""
        inputs = self.corpora(self.long)
        shared = self.planned(inputs)
        workers = [shared.pull() for _ in range(2)]
        while not [*shared.work.glob("artifacts/docs-*/*.part")]:
            time.sleep(0.002)
        for worker in workers:
            worker.send_signal(signal.SIGSTOP)
        return shared, inputs, workers

    def goes_on(self, shared, workers, code):
        for worker in workers:
            worker.send_signal(signal.SIGCONT)
        for worker in workers:
            ends(shared, worker, code)

    def is_whole(self, shared, inputs):
        if found := differences(self.one(inputs).published(), shared.published()):
            fail("workers made other bytes than one run: " + "; ".join(found), shared)
        if shared.plan():
            fail("something is left", shared)

    @scenario
    def a_damaged_intermediate_is_made_again(self):
        shared, inputs, workers = self.frozen()
        part = next(shared.work.glob("artifacts/docs-*/*.part"))
        data = bytearray(part.read_bytes())
        data[len(data) // 2] ^= 0x20
        part.write_bytes(data)
        self.goes_on(shared, workers, DONE)
        self.is_whole(shared, inputs)

    @scenario
    def an_edited_source_ends_the_workers(self):
        shared, inputs, workers = self.frozen()
        write_corpora(self.root / "other_corpora", [corpus(seed=9, size=200_000)], "gzip")[0].rename(inputs[0])
        self.goes_on(shared, workers, NO_INPUT)
        shared.plan()  # only a person says that the new source is meant
        ends(shared, shared.pull(), DONE)
        self.is_whole(shared, inputs)

    @scenario
    def a_run_beside_workers_ends_well(self):
        shared, inputs, workers = self.frozen()
        if shared.finish("-j", "1") != 0:
            fail("a run beside workers failed", shared)
        self.goes_on(shared, workers, DONE)
        self.is_whole(shared, inputs)

    @scenario
    def status_names_each_worker_at_work(self):
        shared = self.planned(self.corpora(self.long))
        worker = shared.pull()
        while not [*shared.package.glob("lease/**/*.json")]:
            time.sleep(0.001)
        worker.send_signal(signal.SIGSTOP)
        told, shown = shared.show("status"), json.loads(shared.show("status", "--json"))["workers"]["units"]
        if "docs/0000-*: " not in told or f", process {worker.pid}" not in told or shown[0]["unit"] != "docs/0000-*":
            fail(f"`pipe status` says\n{told}{shown}", shared)
        worker.send_signal(signal.SIGCONT)
        ends(shared, worker, DONE)

    @scenario
    def a_worker_that_no_unit_fits_says_so(self):
        """The run goes on with another worker."""
        inputs = self.corpora(self.short, corpus(seed=7, size=100_000))
        shared = self.planned(inputs)
        plan = json.loads((shared.package / "plan.json").read_text())
        needs = {unit["unit"]: unit for unit in plan["units"]}
        if [unit["bytes_in"] for unit in needs.values()] != [path.stat().st_size for path in inputs]:
            fail(f"the plan has {needs}", shared)
        plan["units"][1]["scratch"] = 1 << 60
        (shared.package / "plan.json").write_text(json.dumps(plan))
        ends(shared, shared.pull("--memory", "1MiB"), CONFIG, "warning: needs ", "error: needs ",
             " of memory, and this worker has 1.00 MiB (--memory)", "(unit docs/0000-*)")
        ends(shared, shared.worker("docs/0001-*"), CONFIG, "error: needs 1024.0 PiB of scratch", str(shared.root), "(unit docs/0001-*)")
        record = {"pipe_submit": 1, "engine": "local", "job": "", "directory": "", "host": "vm-2", "workers": 1, "memory": 1}
        (shared.package / "submit.json").write_text(json.dumps(record))
        if "fits no worker: docs/0000-* needs " not in (told := shared.show("status")):
            fail(f"`pipe status` says\n{told}", shared)
        (shared.package / "submit.json").unlink()
        ends(shared, shared.pull(), DONE)  # one unit is done, so there is a new plan, which knows the disk

    @scenario
    def a_worker_with_another_recipe_makes_no_attempt(self):
        shared = self.planned(self.corpora(self.short))
        plan = shared.package / "plan.json"
        text = plan.read_text()
        plan.write_text(text.replace("nfkc", "nfc"))
        ends(shared, shared.pull(), CONFIG, "use the same version everywhere")
        if shared.records() != ["plan.json"]:
            fail(f"a worker that does not fit left {shared.records()}", shared)
        plan.write_text(text)
        ends(shared, shared.pull(period="soon"), 64, "PIPE_LEASE: ")
        while (code := shared.pull("--for", "1s").wait(timeout=60)) == TRY_AGAIN:
            pass
        if code != DONE or not (shared.package / "end.json").exists():
            fail(f"a worker with a bound of time ended with {code}", shared)


def failures(program, root):
    scenarios = Failures(program, root)
    play(scenarios, arguments=scenarios.begin)


def main():
    program, part = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as root:
        {"kills": kills, "cuts": cuts, "failures": failures}[part](program, Path(root))


if __name__ == "__main__":
    main()
