#!/usr/bin/env python3
"""Slices that cannot train: each ends with a message that names the host or the place, or goes on when the reason has
passed. The machines are those of tests/trainer/machines.py; the trainer follows instructions (fake_trainer.py).

    bad_slices.py PIPE FAKE_GCS [CASE...]
"""

import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "trainer"), str(HERE.parent.parent / "cli")]

import machines  # noqa: E402
import replan_support as support  # noqa: E402
import train_run  # noqa: E402
from fake_buckets import BUCKET  # noqa: E402
from slice_runs import Training, check  # noqa: E402

FACTOR = 0.05


class Case:
    def __init__(self, place, network, slice_):
        self.place, self.network, self.slice = place, network, slice_

    def training(self, name, *words, hosts=2, out=None, **variables):
        training = Training(name, self.place.root, self.place.file, self.network.bucket, self.slice[:hosts], name,
                            ["--only", "train", *words], PIPE_LEASE="0.5", PIPE_TEST_HOST_TIMES=str(FACTOR),
                            **variables)
        if out is not None:
            training.words[0] = f"--set=stages.train.out={out}"
        return training

    def ends(self, training, *codes, seconds=40):
        training.wait("all end", lambda: not any(host.is_running() for host in training.hosts), seconds)
        found = [host.codes[-1] for host in training.hosts]
        check(found == list(codes), f"{training.name}: exit codes {found}\n{training.text()}")

    def says(self, host, part):
        check(part in host.text(), f"host {host.number} does not say {part!r}:\n{host.text()}")


def host_that_never_comes(case):
    training = case.training("missing", "--set=stages.train.hosts_wait=1")
    training.hosts.pop()
    training.start()
    case.ends(training, 1)
    case.says(training.hosts[0], "no sign of life from host 1 for 0 min; start the same command on every host")


def leader_that_never_comes(case):
    training = case.training("alone", "--set=stages.train.hosts_wait=1")
    training.hosts.pop(0)
    training.start()
    time.sleep(2)
    case.says(training.hosts[0], "waits until host 0 begins")
    training.hosts[0].stop()
    case.ends(training, 128 + signal.SIGTERM)


def place_that_is_not_shared(case):
    training = case.training("apart", out="here")
    training.start()
    training.wait("host 0 ends", lambda: not training.hosts[0].is_running(), 20)
    check(training.hosts[0].codes == [1], training.text())
    case.says(training.hosts[0], "is on a file system of this machine alone")
    training.wait("host 1 waits", lambda: "waits until host 0 begins at here/runs" in training.hosts[1].text(), 20)
    training.hosts[1].stop()
    case.ends(training, 1, 128 + signal.SIGTERM)


def metadata_server_that_is_slow(case):
    slow = case.slice[1]
    slow.delay = 2
    training = case.training("slow")
    training.start()
    training.wait("host 1 ends", lambda: not training.hosts[1].is_running(), 20)
    slow.delay = 0
    check(training.hosts[1].codes == [2], training.text())
    case.says(training.hosts[1], "no whole answer within 1 s")
    training.hosts[1].start()  # and then it is as quick as ever
    training.finish(60)


def metadata_server_without_a_number(case):
    number = case.slice[1].values.pop("instance/attributes/agent-worker-number")
    training = case.training("nameless")
    training.hosts.pop(0)
    training.start()
    case.ends(training, 2)
    case.slice[1].values["instance/attributes/agent-worker-number"] = number
    case.says(training.hosts[0], "there is no attribute agent-worker-number")


def four_hosts_on_a_single_machine(case):
    kept = dict(case.slice[0].values)
    for name in [name for name in kept if "attributes" in name]:
        del case.slice[0].values[name]
    found = []
    for code, *words in ((2,), (0, "-n", "--ask"), (0, "-n", "--ask", "--set=stages.train.host=2")):
        training = case.training(f"single-{len(found)}", "--set=stages.train.hosts=4", *words, hosts=1)
        training.start()
        case.ends(training, code)
        found.append(training.hosts[0])
    case.slice[0].values.update(kept)
    for host in found[:2]:
        case.says(host, "hosts is 4, and nothing gives the number of this one")
    case.says(found[2], "stage 'train': this is host 2 of 4, by the keys")


def keys_that_contradict_each_other(case):
    """They are refused on any machine, as `pipe validate` does."""
    for words, message in ((("hosts=4", "host=4"), "host is 4: it must be from 0 to 3, as `hosts` is one more"),
                           (("coordinator=a:1",), 'coordinator is "a:1": it must be the name or address of host 0'),
                           (("hosts=four",), 'hosts: must be `auto` or a whole number, and is "four"')):
        training = case.training("contrary", *(f"--set=stages.train.{word}" for word in words), "-n", hosts=1)
        training.start()
        case.ends(training, 2)
        case.says(training.hosts[0], message)


CASES = [host_that_never_comes, leader_that_never_comes, place_that_is_not_shared, metadata_server_that_is_slow,
         metadata_server_without_a_number, four_hosts_on_a_single_machine, keys_that_contradict_each_other]


def main():
    machines.isolate()
    support.PIPE = str(Path(sys.argv[1]).absolute())
    with support.Sandbox() as place, machines.Network(Path(sys.argv[2]).absolute(), place.root) as network:
        train = train_run.pipeline(place)
        train["steps"] = 5
        for stage in ("tokenizer", "packed"):
            place.stages[stage]["out"] = f"gs://{BUCKET}/{stage}"
        place.write_file()
        slice_ = network.add(2)
        inputs = Training("inputs", place.root, place.file, network.bucket, slice_[:1], "none", ["--until", "packed"])
        inputs.start()
        inputs.finish(60)
        for case in CASES:
            if not sys.argv[3:] or case.__name__ in sys.argv[3:]:
                began = time.monotonic()
                case(Case(place, network, slice_))
                print(f"{case.__name__.replace('_', ' ')}: as designed [{time.monotonic() - began:.1f} s]", flush=True)


if __name__ == "__main__":
    main()
