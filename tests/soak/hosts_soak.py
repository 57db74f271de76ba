#!/usr/bin/env python3
"""Trainings on four hosts of eight devices each (the shape of a v2-32), with faults by a seed in every stage of an
attempt, and the real trainer. The machines are those of tests/trainer/machines.py, the faults those of slice_faults.py.

    hosts_soak.py PIPE FAKE_GCS ENVIRONMENT [--seed N] [--faults N] [--devices N] [--steps N] [--factor F]

Each kind of fault falls in each stage once, then again in another order; a line for each tells where it fell. A host
that was killed, or that ended with another code than 0, is started again, sometimes on an empty disk. After each
training: the ids of each step are those of one process; losses and norms of all steps, also of those that are taken
again, are those of a run without faults, bit for bit; no marker lacks a part. Losses of the run without faults are
those of one process with the same mesh to 1e-6 (30 steps; then rounding adds up). At the end a training changes from
four hosts to one and back: its ids are the same, its losses to 1e-5.
ENVIRONMENT `fake`: a trainer that follows instructions and computes nothing (tests/plugins/train/fake_trainer.py), to
try the stage alone; ids are not compared, and no host changes.
--factor: of the times of hosts.md, section 4. Long freezes and cuts last until the others have given the host up.
"""

import argparse
import itertools
import random
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("cli", "trainer")]

import machines  # noqa: E402
import replan_support as support  # noqa: E402
from bucket_training import pipeline  # noqa: E402
from fake_buckets import BUCKET  # noqa: E402
from slice_faults import KINDS, Slice, strike  # noqa: E402
from slice_runs import STAGES, Training, apart, check, check_markers, figures, samples  # noqa: E402

FAKE_TRAINER = Path(__file__).resolve().parent.parent / "plugins/train/fake_trainer.py"
HOSTS, EVERY = 4, 5
EXPECTED = {"kill": {-9}, "term": {143}, "notice": {75}}  # exit codes of the host itself


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pipe", type=Path)
    parser.add_argument("fake_gcs", type=Path)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--devices", type=int, default=8, help="of each host")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--factor", type=float, default=0.2)
    words = parser.parse_args()
    machines.isolate()
    support.PIPE = str(words.pipe.absolute())
    with support.Sandbox() as place, machines.Network(words.fake_gcs.absolute(), place.root) as network:
        Soak(words, place, network).run()


class Soak:
    def __init__(self, words, place, network):
        self.words, self.place, self.network = words, place, network
        self.chance, self.began = random.Random(words.seed), time.monotonic()
        self.fake = words.environment == Path("fake")
        environment = place.root / "environment" if self.fake else words.environment.absolute()
        config = {"preset": "tiny", "model": {"layers": 1}, "batch": {"rows": HOSTS * words.devices},
                  "schedule": {"name": "const", "warmup": 4}, "mesh": {"fsdp": HOSTS * words.devices}}
        if self.fake:
            (environment / "bin").mkdir(parents=True)
            (environment / "bin/python").symlink_to(FAKE_TRAINER)
            (place.root / "meet").mkdir()
            config = {"pace": 0.2, "compile": 3, "meet": str(place.root / "meet")}
        self.train = train = pipeline(place, f"gs://{BUCKET}/models", environment)
        train.update(config=config, steps=words.steps, eval_every=0, checkpoint_every=EVERY)
        place.write_file()
        self.slice = network.add(HOSTS)
        self.unexpected = 0

    def tell(self, line):
        print(f"[{time.monotonic() - self.began:6.1f} s] {line}", flush=True)

    def training(self, name, hosts, *words, devices=None, out=None):
        return Training(name, self.place.root, self.place.file, self.network.bucket, hosts, out or name, words,
                        XLA_FLAGS=f"--xla_force_host_platform_device_count={devices or self.words.devices}",
                        JAX_PLATFORMS="cpu", PIPE_TEST_HOST_TIMES=str(self.words.factor), PIPE_LEASE="1")

    def run(self):
        print(f"seed {self.words.seed}, {self.words.faults} faults, {HOSTS} hosts of {self.words.devices} devices")
        calm = self.training("calm", self.slice)
        calm.start()
        calm.finish(600)
        wanted, ids = figures(calm), self.ids(calm)
        check(sorted(wanted) == list(range(1, self.words.steps + 1)), "steps are missing")
        self.tell(f"{self.words.steps} steps without a fault, {len(calm.attempts(calm.objects()))} attempt")
        if not self.fake:
            self.compare_with_one_process(wanted, ids)
        for number, faults in enumerate(self.plan()):
            self.round(number, faults, wanted, ids)
        if not self.fake:
            self.change_hosts()
        self.tell(f"done, {self.unexpected} ends of a host that no fault of its own explains")

    def ids(self, training):
        return None if self.fake else samples(training.hosts)

    def compare_with_one_process(self, wanted, ids):
        alone = self.training("alone", self.slice[:1], "--only", "train", "--set=stages.train.hosts=1",
                              devices=HOSTS * self.words.devices)
        alone.start()
        alone.finish(600)
        check(samples(alone.hosts) == ids, "one process reads other ids")
        losses, norms = apart({step: wanted[step] for step in range(1, 31)}, figures(alone))
        self.tell(f"one process with the same mesh: the same ids; 30 losses differ by {losses:.1e} at most, norms by "
                  f"{norms:.1e}")
        check(losses <= 1e-6 and norms <= 1e-5, "one process has other losses")

    def plan(self):
        """Lists of (stage, kind), a training each. A publication is the last stage of its training."""
        every = list(itertools.product(STAGES, KINDS))
        faults = []
        while len(faults) < self.words.faults:
            faults += self.chance.sample(every, len(every))
        faults = faults[:self.words.faults]
        rounds = max(sum(stage == STAGES[-1] for stage, _ in faults), 1)
        lists = [[] for _ in range(rounds)]
        for last in (False, True):
            chosen = [fault for fault in faults if (fault[0] == STAGES[-1]) == last]
            for at, fault in enumerate(chosen):
                lists[at % rounds].append(fault)
        return lists

    def round(self, number, faults, wanted, ids):
        training = self.training(f"round-{number}", self.slice, "--only", "train")
        state = Slice(training)
        training.excused = {}  # host: the fault that explains its end
        training.tend = lambda: (self.restart(training), training.pace(2 * EVERY))
        training.start()
        for stage, kind in faults:
            host = self.chance.choice(training.hosts)
            long = self.chance.random() < 0.7
            duration = 0
            if kind in ("freeze", "cut"):
                duration = 40 * self.words.factor + 3 if long else self.chance.uniform(0.2, 2)
            if stage in ("join", "compile"):  # only a new attempt comes to them in any case
                host.kill()
                training.excused[host.number] = "kill"
            told = strike(state, stage, kind, host, 300, duration, errors=self.chance.randrange(4),
                          lost_disk=kind == "kill" and self.chance.random() < 0.3)
            training.excused[host.number] = kind
            self.tell(f"{told}{f', for {duration:.1f} s' if duration else ''}")
            check_markers(training)
            if kind in ("term", "notice"):
                # A publication may be over before the host hears of it.
                training.wait(f"host {host.number} ends",
                              lambda host=host: host.number not in training.excused or host.ended_well(), 200)
                host.machine.values["instance/preempted"] = "FALSE"
            elif kind == "kill":
                time.sleep(self.chance.uniform(0, 3))
        training.tend = lambda: (self.restart(training), training.hold(False))
        training.wait("all hosts end well", lambda: all(host.ended_well() for host in training.hosts), 400)
        objects = training.objects()
        lost = [training.read(name, objects) for name in sorted(objects) if name.endswith(".end.json")]
        self.tell(f"published after {training.attempts(objects)[-1]} attempts; "
                  + "; ".join(f"{end['number']}: {end['reason']}" for end in lost))
        check("result.json" in objects, "no result")
        found = figures(training)
        check(found == wanted, f"losses or norms differ at {[s for s in wanted if found.get(s) != wanted[s]]}")
        check(self.ids(training) == ids, "the ids of the steps differ")
        self.tell(f"losses, norms and ids of {len(found)} steps are those of the run without faults; "
                  f"{check_markers(training)} markers are whole")
        training.forget()

    def restart(self, training):
        for host in training.hosts:
            if host.is_running() or host.ended_well():
                continue
            code, fault = host.codes[-1], training.excused.pop(host.number, None)
            last = [line for line in host.text().splitlines() if line][-1:]
            stopped = code == 1 and last and "host 0 was stopped" in last[0]  # then the run ends on all hosts
            if code not in EXPECTED.get(fault, ()) and not stopped:
                self.unexpected += 1
                self.tell(f"  host {host.number} ended with {code} after {fault or 'no fault of its own'}: {last}")
            host.machine.values["instance/preempted"] = "FALSE"
            host.start()

    def change_hosts(self):
        """Four hosts, then one with another mesh, then four again, for 20 steps more each time."""
        self.train["config"] = {**self.train["config"], "mesh": {"fsdp": self.words.devices}}
        self.place.file = self.place.root / "moved.yaml"
        self.place.write_file()
        calm = self.training("stays", self.slice, "--only", "train", "--set=stages.train.steps=60")
        calm.start()
        calm.finish(600)
        wanted = figures(calm)
        found, ids = {}, {}
        for steps, machines_ in ((20, self.slice), (40, self.slice[:1]), (60, self.slice)):
            moved = self.training(f"moved-{steps}", machines_, "--only", "train", f"--set=stages.train.steps={steps}",
                                  f"--set=stages.train.hosts={len(machines_)}", out="moved")
            moved.start()
            moved.finish(600)
            found.update(figures(moved))
            ids.update(samples(moved.hosts))
        check(sorted(found) == sorted(wanted) == list(range(1, 61)), f"steps are missing: {sorted(found)}")
        check(ids == samples(calm.hosts), "a change of hosts changes the ids")
        losses, norms = apart(found, wanted)
        check(losses <= 1e-5, f"a change of hosts changes losses by {losses}")
        self.tell(f"four hosts, one with another mesh, four: the same ids; 60 losses differ by {losses:.1e} at most, "
                  f"norms by {norms:.1e}")


if __name__ == "__main__":
    main()
