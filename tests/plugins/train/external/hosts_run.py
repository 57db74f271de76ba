#!/usr/bin/env python3
"""`pipe run` on two or three hosts with a program of somebody else as the trainer, on the loopback: the hosts have a
work directory each, and see one directory `out`. Programs die, hang and are stopped on one of them; all go on together.

    hosts_run.py PIPE [SCENARIO...]
"""

import json
import re
import shutil
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tests/plugins/train"), str(ROOT / "tests/trainer")]

import replan_support as support  # noqa: E402
import train_run  # noqa: E402
from hosts_training import Host, wait_for  # noqa: E402
from slice_runs import check  # noqa: E402

STEPS = 20
BEGINS = "logs, events and TensorBoard files are in"

hosts = []  # all that were made, to be ended with the test


def host_of(place, number, count, name):
    host = Host(place, number, count)
    host.times = "0.15"
    host.work, host.said = (place.root / f"{name}-{part}-{number}" for part in ("disk", "said"))
    hosts.append(host)
    return host


class Slice:
    """Hosts that train together; `does`: for each of them what its program does in which attempt."""

    def __init__(self, place, name, *does, words=(), **keys):
        self.file = place.root / f"{name}.json"
        self.file.write_text(json.dumps({str(host): one for host, one in enumerate(does)}))
        command = [str(ROOT / "tests/plugins/train/external/external_trainer.py"), "--run", "{run_dir}",
                   "--steps", "{steps}", "--does", str(self.file), "--host", "{host}", "--told", "{host}/{hosts}",
                   "--at", "{coordinator}", "--split", "{coordinator_address} {coordinator_port}", *words]
        self.out = place.out / name
        place.stages["train"] = {**place.stages["train"], "command": command, "out": str(self.out), **keys}
        place.write_file()
        self.hosts = [host_of(place, number, len(does), name) for number in range(len(does))]

    def start(self):
        """Host 0 first: the others look for it every 10 s."""
        first, *others = self.hosts
        begins = first.text().count(BEGINS) if first.said.exists() else 0
        first.start("--only", "train")
        wait_for("host 0 begins", [first], lambda: not first.is_running() or first.text().count(BEGINS) > begins, 20)
        for host in others:
            host.start("--only", "train")

    def text(self):
        return "".join(f"--- host {host.number}\n{host.text()}" for host in self.hosts)

    def ends(self, *codes):
        wait_for("all end", self.hosts, lambda: not any(host.is_running() for host in self.hosts), 40)
        found = [host.end() for host in self.hosts]
        check(found == list(codes), f"exit codes {found}\n{self.text()}")

    @staticmethod
    def disk(host):
        """The run directory of a host."""
        (found,) = (path for below in (".", "hosts/*") for path in host.work.glob(f"{below}/kept/train/runs/*"))
        return found

    def begins(self, host):
        """The steps at which the attempts of its program began."""
        logs = sorted(self.disk(host).glob("logs/attempt-*.log"))
        return [int(log.read_text().split("continues from ")[1].split()[0]) for log in logs]

    def run(self):
        """The location of the run, in `out`."""
        (found,) = self.out.glob("runs/*")
        return found

    def published(self):
        return json.loads((self.run() / "result.json").read_text())


def dies_and_hangs(place):
    """Three hosts: one dies, then host 0 hangs, then another one hangs after the end of host 0."""
    marked = str(place.out / f"faults/runs/*/checkpoints/10/{'?' * 16}.json")
    waits = {"steps": 12, "then": "wait"}
    slice_ = Slice(place, "faults", [{"steps": 12, "then": "chat"}, {"steps": 17, "then": "hang"}, {}],
                   [waits, waits, {"steps": 18, "then": "hang"}, {}],
                   [{"steps": 7, "when": marked, "then": "exit", "code": 3}, waits, {}], silence=1, grace=1)
    slice_.start()
    slice_.ends(0, 0, 0)
    for host in slice_.hosts:
        begins = slice_.begins(host)
        check(begins == [0, 10, 15, 20], f"host {host.number} began at {begins}\n{slice_.text()}")
    said = slice_.hosts[0].text()
    for why in ("host 2: the trainer ended with exit code 3", "host 0: the trainer wrote no line",
                "host 1: the trainer wrote no line"):
        check(why in said, f"does not say {why!r}:\n{said}")
    told = [dict(zip(words[::2], words[1::2])) for words in
            (json.loads((slice_.disk(host) / "program" / name).read_text()) for host, name in
             zip(slice_.hosts, ("words.json", "words-1.json", "words-2.json")))]
    check([words["--told"] for words in told] == ["0/3", "1/3", "2/3"], told)
    check(len({words["--at"] for words in told}) == 1 and told[0]["--split"].replace(" ", ":") == told[0]["--at"], told)
    result = slice_.published()
    check(result["steps"] == STEPS and result["checkpoint"] == f"checkpoints/{STEPS}", result)
    check((slice_.run() / "export/model.bin").read_text() == f"model at {STEPS}", "another model")
    own, copy = (slice_.disk(slice_.hosts[0]) / name / f"checkpoint-{STEPS}/weights" for name in
                 ("program/checkpoints", f"checkpoints/{STEPS}"))
    check(own.samefile(copy), "host 0 fetched its own checkpoint")
    others = list((slice_.disk(slice_.hosts[1]) / "program/checkpoints").iterdir())
    check([path.name for path in others] == ["checkpoint-20"], f"host 1 keeps {others}")
    slice_.start()
    slice_.ends(0, 0, 0)
    check(len(slice_.begins(slice_.hosts[0])) == 4, "it trained again for nothing")


def stop(place):
    """One host is stopped: the programs of both save; it comes back on an empty disk, and both go on. Later, one host
    with an empty disk takes more steps alone."""
    slice_ = Slice(place, "stop", *[[{"steps": 12, "then": "wait"}, {"steps": 16, "then": "wait"}, {}]] * 2, grace=6)
    first, second = slice_.hosts

    def both_take(steps):
        def reached():
            return all(any(event["step"] >= steps for event in host.events("step")) for host in slice_.hosts)
        wait_for(f"both are at step {steps}", slice_.hosts, reached, 30)

    slice_.start()
    both_take(11)
    second.stop()
    check(second.end() == 128 + signal.SIGTERM, second.text())
    wait_for("host 0 knows", [first], lambda: "ended: host 1" in first.text(), 20)
    check("stopped at 12" in (slice_.disk(first) / "logs/attempt-1.log").read_text(), slice_.text())
    check(first.is_running(), first.text())
    shutil.rmtree(second.work)
    second.start("--only", "train")
    both_take(15)
    first.stop()
    check([first.end(), second.end()] == [128 + signal.SIGTERM, 1], slice_.text())
    check("host 0 was stopped; the same command on every host goes on from the last checkpoint" in second.text(),
          second.text())
    slice_.start()
    slice_.ends(0, 0)
    check(slice_.begins(first) == [0, 12, 16] and slice_.begins(second) == [12, 16], slice_.text())
    slice_.file.write_text('{"0": [{}]}')
    alone = host_of(place, 0, 1, "stop-alone")
    alone.start("--only", "train", "--set", "stages.train.steps=24")
    check(alone.end() == 0 and slice_.begins(alone) == [20], alone.text())


def fatal(place):
    """A code in `fatal` on host 1 ends the run on both; the end of the other's program explains nothing."""
    slice_ = Slice(place, "fatal", [{"steps": 6, "then": "exit", "code": 7}],
                   [{"steps": 6, "then": "exit", "code": 64}], fatal=["64"])
    slice_.start()
    slice_.ends(1, 1)
    for host in slice_.hosts:
        check(re.search(r"host 1: the trainer ended with exit code 64 \(its last line: .*\), which is in `fatal`", host.text()),
              host.text())


def no_success(place):
    """All end with 0, and host 0 has no model."""
    slice_ = Slice(place, "none", [{"save": False}], [{}])
    slice_.start()
    slice_.ends(1, 1)
    for host in slice_.hosts:
        check("host 0: the trainer ended with exit code 0, but `success` names model.bin, and there is no such file in"
              in host.text(), host.text())
    check(not (slice_.run() / "result.json").exists(), "it is published")


def shared(place):
    """Both hosts write their parts of each checkpoint into one directory; later, one host takes more steps there."""
    committed = str(place.out / "shared/runs/*/program/checkpoints/checkpoint-10/COMMIT")
    slice_ = Slice(place, "shared", [{"steps": 12, "then": "exit", "code": 7}, {}],
                   [{"steps": 12, "when": committed, "then": "exit", "code": 3}, {}],
                   words=["--parts", "2"], shared=True)
    slice_.start()
    slice_.ends(0, 0)
    check([slice_.begins(host) for host in slice_.hosts] == [[0, 10]] * 2, slice_.text())
    check((slice_.run() / "export/model.bin").read_text() == f"model at {STEPS}" and
          not list((slice_.run() / "checkpoints").glob("*")), "its checkpoints are copied")
    check(slice_.published()["checkpoint"] is None, slice_.published())
    alone = host_of(place, 0, 1, "shared-alone")
    alone.work = slice_.hosts[0].work
    alone.start("--only", "train", "--set", "stages.train.steps=24", "--set", "stages.train.restarts=0")
    check(alone.end() == 0 and slice_.begins(alone)[2:] == [20], alone.text())
    check((slice_.run() / "export/model.bin").read_text() == "model at 24", "another model")


def refusals(place):
    """`shared` with a change of the directory of all hosts is refused, and the position of a host is told."""
    one = Slice(place, "refused", [{}], [{}], shared=True, fresh=["left"]).hosts[0]
    one.start("-n")
    check(one.end() == 2 and "shared: with true, no host changes `{run_dir}` of all, and `fresh` would" in one.text(),
          one.text())
    del place.stages["train"]["fresh"]
    one = Slice(place, "position", [{}], [{}], shared=False).hosts[1]
    one.start("-n")
    check(one.end() == 0 and "this is host 1 of 2, by the keys" in one.text(), one.text())


SCENARIOS = [dies_and_hangs, stop, fatal, no_success, shared, refusals]


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    with support.Sandbox() as place:
        train = train_run.pipeline(place)
        for key in ("config", "eval_every", "checkpoint_every", "prompts", "environment"):
            train.pop(key)
        train.update(trainer="external", steps=STEPS, grace=2, keep_checkpoints=2, success=["model.bin"],
                     command=["true"], recognise={"step": "step ([0-9]+)", "loss": "loss=([0-9.]+)", "checkpoint": {
                         "directory": "checkpoints", "step": "checkpoint-([0-9]+)", "commit": "COMMIT"}})
        place.ok("--until", "packed")
        for scenario in SCENARIOS:
            if sys.argv[2:] and scenario.__name__ not in sys.argv[2:]:
                continue
            kept, began = dict(place.stages["train"]), time.monotonic()
            try:
                scenario(place)
            finally:
                for host in hosts:
                    host.kill()
            place.stages["train"] = kept
            print(f"{scenario.__name__.replace('_', ' ')}: as designed [{time.monotonic() - began:.1f} s]", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
