#!/usr/bin/env python3
"""A training on four hosts with a disk, an address and a metadata server each and a bucket between them, with the real
trainer. The hosts find each other by their metadata servers, and wait for the inputs that host 0 makes. One host is
cut off while it sends its part of a checkpoint, and one is killed and comes back on an empty disk. The ids of each step are those of one process; losses and norms of
every step, also of one that is taken again, are those of a run without a fault, bit for bit.

    slice_training.py PIPE FAKE_GCS ENVIRONMENT
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

import machines  # noqa: E402
import replan_support as support  # noqa: E402
from bucket_training import pipeline  # noqa: E402
from fake_buckets import BUCKET  # noqa: E402
from slice_faults import Slice, strike  # noqa: E402
from slice_runs import Training, apart, check, check_markers, figures, samples  # noqa: E402
import xla_flags  # noqa: E402

HOSTS, DEVICES, STEPS, EVERY = 4, 2, 20, 5
FACTOR = 0.15  # of the times of hosts.md, section 4
GIVEN_UP = 40 * FACTOR + 3


def main():
    pipe, fake, environment = (Path(word).absolute() for word in sys.argv[1:4])
    machines.isolate()
    support.PIPE = str(pipe)
    with support.Sandbox() as place, machines.Network(fake, place.root) as network:
        train = pipeline(place, f"gs://{BUCKET}/models", environment)
        config = {"preset": "tiny", "model": {"layers": 1}, "batch": {"rows": 8}, "schedule": {"name": "const"},
                  "mesh": {"fsdp": HOSTS * DEVICES}}
        train.update(config=config, steps=STEPS, eval_every=0, checkpoint_every=EVERY,
                     restarts=20)  # on a busy machine gloo's 30 s may end an attempt
        place.write_file()
        slice_ = network.add(HOSTS)

        def training(name, hosts, *words):
            flags = xla_flags.with_devices(HOSTS * DEVICES // len(hosts))
            return Training(name, place.root, place.file, network.bucket, hosts, name, words, XLA_FLAGS=flags,
                            JAX_PLATFORMS="cpu", PIPE_TEST_HOST_TIMES=str(FACTOR), PIPE_LEASE="0.5")
        began = time.monotonic()

        def tell(line):
            print(f"[{time.monotonic() - began:5.1f} s] {line}", flush=True)

        struck = training("struck", slice_)
        hosts = struck.hosts
        hosts[1].start()
        struck.wait("host 1 waits", lambda: "waits until host 0 publishes" in hosts[1].text(), 60)
        for host in hosts:
            if not host.is_running():
                host.start()
        state = Slice(struck)
        struck.tend = lambda: struck.pace(2 * EVERY)
        tell("host 1 waits for the inputs of host 0")
        tell(strike(state, "parts", "cut", hosts[1], 400))
        tell(strike(state, "step", "kill", hosts[2], 60, lost_disk=True))
        hosts[2].start()
        struck.wait("both are lost", lambda: any(name.endswith(".end.json") for name in struck.objects()), 60)
        time.sleep(GIVEN_UP)
        hosts[1].machine.mend()
        struck.tend = lambda: struck.hold(False)
        struck.finish(400)
        objects = struck.objects()
        ends = [struck.read(name, objects) for name in objects if name.endswith(".end.json")]
        tell("the run has ended; " + "; ".join(end["reason"] for end in sorted(ends, key=lambda end: end["number"])))
        check({2} <= {host for end in ends for host in end["lost"]}, f"a fault cost no attempt: {ends}")
        check("the trainer is ended: this host could not renew its sign" in hosts[1].text(), hosts[1].text())

        calm = training("calm", slice_, "--only", "train")
        calm.start()
        calm.finish(400)
        check(sorted(figures(calm)) == list(range(1, STEPS + 1)), "steps are missing")
        check(figures(struck) == figures(calm), "faults change a loss or a norm")
        tell("losses and norms of all steps are those of a run without faults")

        alone = training("alone", slice_[:1], "--only", "train", "--set=stages.train.hosts=1")
        alone.start()
        alone.finish(400)
        check(samples(struck.hosts) == samples(alone.hosts) == samples(calm.hosts), "one process reads other ids")
        # The sums have another order, so the difference grows with the steps.
        wanted = figures(calm)
        for steps, most in (EVERY, 1e-6), (STEPS, 1e-5):
            losses, norms = apart({step: wanted[step] for step in range(1, steps + 1)}, figures(alone))
            tell(f"one process reads the same ids; {steps} losses differ by {losses:.1e} at most, norms by {norms:.1e}")
            check(losses <= 1e-6 and norms <= most, f"more than 1e-6, or than {most}")
        check(check_markers(struck) > 0, "no markers")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
