#!/usr/bin/env python3
"""Runs whose home is in a bucket: the same bytes as with a work directory, on any machine, through kills and faults.

    bucket_home.py PIPE FAKE_GCS moves     killed at commit points, and each time another machine goes on
    bucket_home.py PIPE FAKE_GCS faults    the bucket fails at random, and the runs are killed
    bucket_home.py PIPE FAKE_GCS hosts     two machines at once, and one that is held up
    bucket_home.py PIPE FAKE_GCS refusals  a home without rights, wrong places, a scratch that is full
    bucket_home.py PIPE FAKE_GCS commands  the other commands, on a machine that has only the home
    bucket_home.py PIPE FAKE_GCS workers   `pipe plan` and `pipe worker` on machines without a common disk
    bucket_home.py PIPE FAKE_GCS queue     workers that take units and plan themselves
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fake_buckets import BUCKET, FakeBucket
from pipe_run import Log, Run, corpus, differences, fail, hold, write_corpora
from same_bytes import FILE, READER, WHOLE
from web_server import WebServer

HOME = f"gs://{BUCKET}/run"
# Kept in the home: a tokenizer without `out`, records of which every line counts, and a quarantine.
KEPT = """\
  pick: { type: sample, input: docs, split: train, bytes: 1MB }
  tokenizer: { type: train_tokenizer, input: pick, vocab_size: 6000, character_coverage: 0.98 }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 64, shards: 3, out: "${out}/packed" }
"""
POINTS = ("object.visible:3", "partition.logged:2", "partition.committed:3", "input.ended:1", "object.visible:12",
          "outputs.unneeded:1", "output.removed:2", "shard.committed:1", "shard.logged:2", "artifact.published:1",
          "output.removed:4", "manifest.committed:1")


class Machines:
    """Machines that have the sources and `out`, and no other file, in common."""

    def __init__(self, program, root, bucket, inputs, more=READER, out=None, home=HOME):
        self.program, self.root, self.bucket, self.home = program, root, bucket, home
        self.out = out or root / "out"
        urls = ", ".join(f'"{path}"' for path in inputs)
        self.text = FILE.format(memory="512MiB", urls=urls, **WHOLE) + more
        self.made = 0

    def new(self):
        self.made += 1
        return HomeRun(self, self.root / f"machine-{self.made}")


class HomeRun(Run):
    def __init__(self, machines, root):
        super().__init__(machines.program, root, machines.text)
        self.work, self.out, self.scratch = machines.home, machines.out, root / "scratch"

    def start(self, *options, kill_at=None):
        return super().start("--scratch", str(self.scratch), *options, kill_at=kill_at)

    def log(self):
        return Log(self.scratch / "run.log")

    def messages(self):
        return super().messages() if (self.root / "messages").exists() else ""

    def call(self, command, *options, **how):
        """A command on the pipeline file: exit code, standard output and messages."""
        environment = {**os.environ, "PIPE_LEASE": "0.5"}
        done = subprocess.run([self.program, command, str(self.file), "--work", self.work, "--scratch",
                               str(self.scratch), "--set", f"out={self.out}", *options], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False, **how)
        return done.returncode, done.stdout, done.stderr


def undisturbed(program, root, inputs, more):
    run = Run(program, root / "local", FILE.format(memory="512MiB", urls=", ".join(f'"{path}"' for path in inputs),
                                                    **WHOLE) + more)
    hold(run.finish() == 0, run, "the run with a work directory failed")
    return run.published()


def of_home(bucket):
    return {name: data for name, (_, data) in bucket.objects().items() if name.startswith("run/")}


def check_end(machines, wanted, what):
    """Another machine finds everything done, and writes nothing but its lease."""
    last = machines.new()
    found = differences(wanted, last.published())
    hold(not found, last, f"{what}: " + "; ".join(found))
    before = of_home(machines.bucket)
    hold(last.finish() == 0 and "up to date" in last.messages(), last, f"{what}: something runs again")
    after = of_home(machines.bucket)
    changed = [name for name in before.keys() | after.keys()
               if before.get(name) != after.get(name) and name != "run/.pipe/lease.json"]
    hold(not changed, last, f"{what}: changed {changed}")
    left = [name for name in after if name.startswith("run/artifacts/") and name.endswith((".part", ".spill"))]
    hold(not left, last, f"{what}: intermediates are left: {left}")
    return after


def moves(program, fake, root, inputs):
    """Killed at commit points; the next machine has an empty scratch."""
    more = READER + KEPT
    wanted = undisturbed(program, root, inputs, more)
    with FakeBucket(fake, root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        machines, kills = Machines(program, root, bucket, inputs, more), 0
        for point in POINTS:
            run = machines.new()
            code = run.finish(kill_at=point)
            hold(code in (0, -signal.SIGKILL), run, f"exit code {code} of a run to be killed at {point}")
            kills += code != 0
        run = machines.new()
        hold(run.finish() == 0, run, "does not end")
        objects = check_end(machines, wanted, "moves")
        hold(any(name.startswith("run/artifacts/tokenizer-") for name in objects), run, "the tokenizer is not there")
        hold(kills >= 9, run, f"only {kills} kills")
        hold(not [path for path in machines.root.glob("machine-*/scratch/artifacts/*")], run, "artifacts are here")
        # The same machine goes on with its scratch; a line that never reached the home is made again.
        forced = machines.new()
        hold(forced.finish("--force", "lines", kill_at="partition.logged:3") == -signal.SIGKILL, forced, "not killed")
        hold(forced.finish("--force", "lines") == 0 and not differences(wanted, forced.published()), forced,
             "the same machine does not go on")
    print(f"ok: moves: {kills} kills, {machines.made} machines; {bucket.told}", flush=True)


def faults(program, fake, root, inputs):
    wanted = undisturbed(program, root, inputs, READER)
    with FakeBucket(fake, root / "bucket", "--seed", "7", "--rate", "0.03") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        machines = Machines(program, root, bucket, inputs, out=root / "out")
        chance, kills, run = random.Random(3), 0, machines.new()
        while kills < 4:
            least = chance.randrange(1, 12)
            code = run.stop_when(lambda: run.log().done() >= least, signal.SIGKILL)
            hold(code in (0, -signal.SIGKILL), run, f"exit code {code}")
            if code == 0:
                break
            kills += 1
            if chance.random() < 0.5:
                run = machines.new()
        hold(run.finish(patience=110) == 0, run, "does not end")
        found = differences(wanted, run.published())
        hold(not found, run, "; ".join(found))
    print(f"ok: faults: {kills} kills, {machines.made} machines; {bucket.told}", flush=True)


def hosts(program, fake, root, inputs):
    packed = inputs[0].read_bytes()
    with FakeBucket(fake, root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        server = WebServer(packed)
        server.here(len(packed) // 2)
        # A kernel lock would keep the second machine from a directory: it is the same machine.
        machines = Machines(program, root, bucket, [server.url], out=f"gs://{BUCKET}/out")
        first, second = machines.new(), machines.new()
        process = first.start()
        while not server.is_waiting() and process.poll() is None:
            time.sleep(0.01)
        hold(second.finish() == 2 and f"process {process.pid}" in second.messages(), second, "two runs of one home")
        until = time.monotonic() + 20  # a segment is on its way
        while "runs on another machine" not in (out := second.call("status")[1]):
            hold(time.monotonic() < until, second, f"status of a home that runs: {out}")
        # Held up for longer than its lease: the other machine takes over, and it stops when it wakes up.
        process.send_signal(signal.SIGSTOP)
        server.here(len(packed))
        hold(second.finish() == 0 and "gave no sign of life" in second.messages(), second, "was not taken over")
        before = of_home(bucket)
        process.send_signal(signal.SIGCONT)
        code = process.wait(timeout=60)
        hold(code == 1 and "another run has taken it over" in first.messages(), first, f"exit {code} of the run that lost")
        changed = [name for name in before if of_home(bucket).get(name) != before[name]]
        hold(not changed, first, f"the run that lost its home changed {changed}")
        hold(first.finish() == 0 and "up to date" in first.messages(), first, "does not find the work of the other")
        server.stop()
    print(f"ok: hosts; {bucket.told}", flush=True)


def refusals(program, fake, root, inputs):
    with FakeBucket(fake, root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        rights(program, bucket, root, inputs)
        places(program, bucket, root, inputs)
        full_scratch(program, bucket, root, inputs)
    print(f"ok: refusals; {bucket.told}", flush=True)


def rights(program, bucket, root, inputs):
    bucket.make("keep", denied=["storage.objects.delete"])
    run = Machines(program, root / "rights", bucket, inputs, home="gs://keep/run").new()
    hold(run.finish() == 2 and "storage.objects.delete" in run.messages(), run, "no right to replace: not refused")
    hold(run.log().done() == 0 and "partition" not in str(bucket.items("keep")), run, "worked before it was refused")
    bucket.make("look", denied=["storage.objects.insert"])
    run = Machines(program, root / "look", bucket, inputs, home="gs://look/run").new()
    hold(run.finish() == 2 and "storage.objects." in run.messages(), run, "no right to create: not refused")
    missing = Machines(program, root / "missing", bucket, inputs, home="gs://missing/run").new()
    hold(missing.finish() == 2 and "gs://missing" in missing.messages(), missing, "no such bucket: not refused")


def full_scratch(program, bucket, root, inputs):
    """A file that cannot grow, as on a full disk: without its log a run ends, without its cache it takes longer."""
    machines = Machines(program, root / "full", bucket, inputs, out=f"gs://{BUCKET}/full-out", home=f"gs://{BUCKET}/full")
    run = machines.new()
    for limit, wanted in ((300, (1, 2)), (100_000, (0,))):

        def limited(limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        code, _, said = run.call("run", preexec_fn=limited)
        hold(code in wanted and (code == 0 or "File too large" in said), run, f"files of {limit} bytes: {code}: {said}")
    found = {name for name in bucket.items(BUCKET) if name.startswith("full-out/") and "/.pipe/" not in name}
    hold(any(name.endswith("MANIFEST.json") for name in found), run, f"published {found}")


def places(program, bucket, root, inputs):
    """Homes and scratches that are refused before anything is written."""
    machines = Machines(program, root / "places", bucket, inputs, home=f"gs://{BUCKET}/places")
    run = machines.new()

    def refused(said, work=machines.home, out=None):
        run.work, run.out = work, out or machines.out
        before = run.messages()
        code = run.finish()
        last = run.messages()[len(before):]
        hold(code == 2 and all(word in last for word in said), run, f"{work}: exit {code}, {said} is not said: {last}")

    refused(["nothing can be written"], work="https://example.com/run")
    refused(["is a whole bucket"], work=f"gs://{BUCKET}/")
    refused(["among the objects of the home"], out=f"{machines.home}/artifacts/x")
    # `text` publishes at OUT/shuffled/1.0.0
    refused(["is inside", "shuffled"], work=f"gs://{BUCKET}/o/shuffled/1.0.0/run", out=f"gs://{BUCKET}/o")
    local = Run(program, root / "places/local", machines.text)
    hold(local.finish() == 0, local, "the run with a work directory failed")
    run.scratch, own = local.work, run.scratch
    refused(["is the work directory of runs without --work", "--scratch"])
    run.scratch, run.work, run.out = own, machines.home, machines.out
    hold(run.finish() == 0, run, "failed")
    refused([f"is the scratch of the run in {machines.home}", "--work"], work=run.scratch)
    refused([f"is the scratch of {machines.home}"], work=f"gs://{BUCKET}/other")
    hold(not [name for name in bucket.items(BUCKET) if name.startswith(("other", "o/"))], run, "wrote before it was refused")
    # Homes of one file, called from one directory without --scratch; the submitted ones at once.
    def call(name, *words):
        return subprocess.Popen([program, *words, str(run.file), "--work", f"gs://{BUCKET}/{name}", "--set",
                                 f"out={run.root / name}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd=run.root)

    for names, words in [(["first"], ["run"]), (["second"], ["run"]), (["first"], ["run"]),
                         (["third", "fourth"], ["submit", "--on", "local"])]:
        for called in [call(name, *words) for name in names]:
            said = called.communicate(timeout=100)[0]
            hold(called.returncode == 0, run, f"{names}: {said}")
    submitted = sorted(str(path.parent.parent.name) for path in run.root.glob(".pipe/*/submit/workers.log"))
    hold(len(submitted) == 2, run, f"two submissions have the directories {submitted}")


def commands(program, fake, root, inputs):
    with FakeBucket(fake, root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        machines = Machines(program, root, bucket, inputs, READER + KEPT)
        run = machines.new()
        code = run.stop_when(lambda: run.log().done() >= 2, signal.SIGTERM, "--keep-intermediates")
        hold(code == 143, run, f"exit {code} after a stop")
        first = of_home(bucket)
        hold(any(name.startswith("run/runs/") for name in first), run, "the record of a stopped run is not in the home")
        other = machines.new()
        code, out, said = other.call("run", "-n")
        hold(code == 0 and "text" in out and not (other.scratch / "run.log").exists(), other, f"-n: {code}: {out}{said}")
        hold(other.finish("--keep-intermediates") == 0, other, "failed")
        looker = machines.new()
        code, out, said = looker.call("status")
        hold(code == 0 and f"home {HOME}" in out and "done" in out, looker, f"status: {code}: {out}{said}")
        code, out, said = looker.call("status", "--json")
        hold(json.loads(out)["work"] == HOME and json.loads(out)["stages"]["text"]["state"] == "done", looker, out)
        code, out, said = looker.call("runs", "--json")
        runs = json.loads(out)
        hold([found["outcome"] for found in runs] == ["done", "cancelled"] and runs[0]["report"], looker, out)
        code, out, said = looker.call("report")
        hold(code == 0 and Path(out.strip()).is_file(), looker, f"report: {code}: {out}{said}")
        code, out, said = looker.call("retry")
        hold(code == 2 and "nothing failed" in said, looker, f"retry: {code}: {out}{said}")
        before = of_home(bucket)
        code, out, said = looker.call("clean", "-n")
        hold(code == 0 and "would remove docs-" in out and of_home(bucket).keys() == before.keys(), looker,
             f"clean -n: {code}: {out}{said}")
        code, out, said = looker.call("clean")
        left = [name for name in of_home(bucket) if name.startswith("run/artifacts/docs-")]
        hold(code == 0 and "removed docs-" in out and not left, looker, f"clean: {code}: {out}{said}{left}")
        for command in (["ls", HOME], ["ls", "-r", f"{HOME}/log"]):
            done = subprocess.run([program, *command], capture_output=True, text=True, timeout=60, check=False)
            hold(done.returncode == 0 and "log" in done.stdout, looker, f"{command}: {done.stdout}{done.stderr}")
        hold(looker.finish() == 0 and "up to date" in looker.messages(), looker, "something runs again")
        small = machines.new()
        hold(small.finish("--force", "lines", "--scratch-size", "0") == 0, small, "fails without a cache")
        hold(not list(small.scratch.glob("cache/??/*")), small, "cached something")
    print(f"ok: commands; {bucket.told}", flush=True)


def workers(program, fake, root, inputs):
    wanted = undisturbed(program, root, inputs, READER)
    with FakeBucket(fake, root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        machines = Machines(program, root, bucket, inputs, READER)
        package, units, rounds = f"{HOME}/package", 0, 0
        while True:
            planner = machines.new()  # each time another machine
            code, out, said = planner.call("plan", "-o", package)
            hold(code == 0, planner, f"plan: {code}: {out}{said}")
            if out.strip() == "0":
                break
            rounds += 1
            plan = json.loads(bucket.get(BUCKET, "run/package/plan.json"))
            hold(plan["home"] == HOME and "work" not in plan, planner, f"members of the plan: {sorted(plan)}")
            for unit in plan["units"]:
                units += 1
                worker = root / f"worker-{units}"
                worker.mkdir()
                done = subprocess.run([program, "worker", "--plan", package, "--unit", unit["unit"], "--scratch",
                                       str(worker)], env={**os.environ, "PIPE_LEASE": "0.5"}, capture_output=True,
                                      text=True, timeout=100, check=False)
                hold(done.returncode == 0, planner, f"{unit['unit']}: {done.returncode}: {done.stderr}")
                hold([path.name for path in worker.iterdir()] == [f"pipe-cache-{os.getuid()}"], planner,
                     f"a worker left {list(worker.iterdir())}")
        last = machines.new()
        found = differences(wanted, last.published())
        hold(not found, last, "; ".join(found))
        hold(last.finish() == 0 and "up to date" in last.messages(), last, "something runs again")
        stray = root / "stray"
        stray.mkdir()
        bucket.put(BUCKET, "run/holder", b"another")
        done = subprocess.run([program, "worker", "--plan", package, "--unit", "text/0000-*", "--scratch", str(stray)],
                              capture_output=True, text=True, timeout=100, check=False)
        hold(done.returncode == 78 and "is not the home of the plan" in done.stderr, last, done.stderr)
    print(f"ok: workers: {units} units in {rounds} rounds; {bucket.told}", flush=True)


def queue(program, fake, root, inputs):
    """Two machines take units until the run has ended; they also plan. One is killed meanwhile."""
    wanted = undisturbed(program, root, inputs, READER)
    with FakeBucket(fake, root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        machines = Machines(program, root, bucket, inputs, READER)
        package, planner = f"{HOME}/package", machines.new()
        code, out, said = planner.call("plan", "-o", package)
        hold(code == 0, planner, f"plan: {code}: {out}{said}")
        looker = machines.new()  # it has only the home
        code, out, said = looker.call("runs", "--json")
        hold(code == 0 and [run["outcome"] for run in json.loads(out)] == ["waiting"], looker, f"runs: {code}: {out}{said}")
        bucket.make("keep", denied=["storage.objects.delete"])
        bucket.put("keep", "package/plan.json", bucket.get(BUCKET, "run/package/plan.json"))
        done = subprocess.run([program, "worker", "--plan", "gs://keep/package", "--next", "--scratch", str(root)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        hold(done.returncode == 77 and "storage.objects.delete" in done.stderr, planner,
             f"no right to remove: {done.returncode}: {done.stderr}")
        done = subprocess.run([program, "submit", str(planner.file), "--on", "local", "--work", "gs://keep/other",
                               "--set", f"out={machines.out}"], cwd=planner.root, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        hold(done.returncode == 2 and "storage.objects.delete" in done.stderr, planner,
             f"no right to remove: {done.returncode}: {done.stderr}")
        hold(not any("holder" in name or "plan.json" in name for name in bucket.items("keep") if "other/" in name),
             planner, "worked without the right to remove")

        def begin(name):
            (root / name).mkdir()
            with open(root / f"{name}.messages", "wb") as messages:
                return subprocess.Popen([program, "worker", "--plan", package, "--next", "--scratch", str(root / name)],
                                        env={**os.environ, "PIPE_LEASE": "0.5"}, stdin=subprocess.DEVNULL,
                                        stdout=messages, stderr=messages)

        killed = begin("killed")
        while killed.poll() is None and not any(name.startswith("run/package/done/") for name in bucket.items(BUCKET)):
            time.sleep(0.02)
        killed.kill()
        killed.wait(timeout=20)
        both = {name: begin(name) for name in ("one", "two")}
        codes = {name: process.wait(timeout=110) for name, process in both.items()}
        said = "".join((root / f"{name}.messages").read_text() for name in both)
        hold(set(codes.values()) == {0}, planner, f"workers: {codes}: {said}")
        found = differences(wanted, planner.published())
        hold(not found, planner, "; ".join(found) + said)
        # Nobody watched the end, and the next plan writes it down; what came here while the run went on is renewed.
        code, out, said = looker.call("runs", "--json")
        hold(code == 0 and [run["outcome"] for run in json.loads(out)] == ["done"], looker, f"runs: {code}: {out}{said}")
        code, out, said = planner.call("plan", "-o", package)
        hold(code == 0 and "report of the run before" in said, planner, f"plan: {code}: {out}{said}")
        told = json.loads(looker.call("status", "--json")[1])
        hold(told["last_run"]["outcome"] == "done" and told["stages"]["text"]["state"] == "done", looker, f"status: {told}")
        last = machines.new()
        hold(last.finish() == 0 and "up to date" in last.messages(), last, "something runs again")
    print(f"ok: queue; {bucket.told}", flush=True)


def main():
    program, fake = (Path(word).resolve() for word in sys.argv[1:3])
    parts = {part.__name__: part for part in (moves, faults, hosts, refusals, commands, workers, queue)}
    if len(sys.argv) != 4 or sys.argv[3] not in parts:
        fail(f"bucket_home.py PIPE FAKE_GCS {'|'.join(parts)}")
    os.environ["PIPE_TEST_REASONS"] = "1"
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        inputs = write_corpora(root / "corpora", [corpus(seed=1, size=900_000), corpus(seed=2, size=400_000)],
                               "xz, one block")
        parts[sys.argv[3]](program, fake, root, inputs)


if __name__ == "__main__":
    main()
