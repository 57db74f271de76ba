#!/usr/bin/env python3
"""A training on two hosts with a disk each and a bucket between them, with the real trainer. Host 1 waits for the
inputs that host 0 makes; it is killed in mid-run and comes back on an empty disk. No disk holds all rows. The ids of
each step are those of one process that has all rows, and every step that is taken twice gives the same loss, bit for
bit.

    hosts_training.py PIPE FAKE_GCS ENVIRONMENT
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

import replan_support as support  # noqa: E402
from bucket_training import pipeline  # noqa: E402
from fake_buckets import BUCKET, FakeBucket  # noqa: E402
from slice_runs import check, samples  # noqa: E402

STEPS, EVERY = 300, 30
ROWS = 64             # of a step: the steps read more than one window of 16384 rows
DATA_DISK = 1300_000  # bytes: a window, with all that is no row of the split train


class Host:
    """One host, with a work directory of its own; all its processes are one group."""

    times = "0.3"  # PIPE_TEST_HOST_TIMES

    def __init__(self, place, number, hosts):
        self.number, self.hosts, self._place = number, hosts, place
        self.work = place.root / f"disk-{number}"
        self.said = place.root / f"said-{number}"
        self.rows = place.root / f"rows-{number}"
        self._process = None

    def start(self, *words):
        keys = [f"--set=stages.train.{name}={value}" for name, value in (("hosts", self.hosts), ("host", self.number))]
        devices = 4 // self.hosts
        env = {**os.environ, "PIPE_TRACE_ROWS": str(self.rows),
               "PIPE_TEST_HOST_TIMES": self.times, "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
        with open(self.said, "ab") as said:
            self._process = subprocess.Popen(
                [support.PIPE, "run", str(self._place.file), "--work", str(self.work), *keys, *words], stdout=said,
                stderr=said, env=env, cwd=self._place.root, start_new_session=True)

    def is_running(self):
        return self._process.poll() is None

    def end(self):
        return self._process.wait(timeout=200)

    def stop(self):
        self._process.send_signal(signal.SIGTERM)

    def freeze_trainer(self):
        """Its trainer takes no more steps; the stage goes on."""
        for path in Path(f"/proc/{self._process.pid}/task").glob("*/children"):
            for child in path.read_text().split():
                os.kill(int(child), signal.SIGSTOP)

    def lose(self):
        """The machine is gone, and its disk: another one has its number."""
        self.kill()
        shutil.rmtree(self.work)

    def kill(self):
        if self._process is not None and self.is_running():
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def text(self):
        return self.said.read_text()

    def events(self, kind):
        """All events of one kind, of every attempt that this disk has seen."""
        found = []
        alone = (self._place.root / "alone").glob("runs/*/events.jsonl") if self.hosts == 1 else ()
        # A walk through all directories would meet those that the trainer removes meanwhile.
        kept = [path for below in (".", "hosts/*") for path in self.work.glob(f"{below}/kept/train/runs/*/events.jsonl")]
        for path in [*kept, *alone]:
            found += [event for event in map(json.loads, path.read_text().splitlines()) if event["kind"] == kind]
        return found


def figures(host):
    """{step: {(loss, norm of the gradient)}}"""
    found = {}
    for event in host.events("step"):
        found.setdefault(event["step"], set()).add((event["loss"], event["grad_norm"]))
    return found


def wait_for(what, hosts, condition, seconds=170):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline,
              f"waited {seconds} s until {what}\n" + "".join(host.text() for host in hosts if host.said.exists()))
        time.sleep(0.2)


def check_disks(hosts, bucket):
    """The rows fit on no disk, and each host kept its bound."""
    all_rows = sum(len(content) for name, (_, content) in bucket.objects().items()
                   if "/packed/" in name and "/.pipe/" not in name and not name.endswith("MANIFEST.json"))
    check(all_rows > DATA_DISK, f"{all_rows} bytes of rows fit into data_disk")
    for host in hosts:
        told = host.events("rows_fetched")
        check(len(told) == 1 and told[0]["host"] == host.number, f"host {host.number} told: {told}")
        event = told[0]
        check((event["of"], event["data_disk"]) == (all_rows, DATA_DISK), event)
        check(event["peak"] <= DATA_DISK and event["blocks"] >= 16, event)
        check("of rows, and had at most" in host.text(), host.text())
        here = sum(path.stat().st_size for path in host.work.glob("**/kept/train/inputs/*/**/*")
                   if path.is_file() and path.name not in ("MANIFEST.json", "tokenizer.model"))
        check(0 < here <= DATA_DISK, f"host {host.number} has {here} bytes of rows")
        print(f"host {host.number}: at most {event['peak']} of {all_rows} bytes of rows on its disk, {event['bytes']} "
              f"fetched", flush=True)


def markers(bucket):
    names = (name.split("/") for name in bucket.items(BUCKET) if "/checkpoints/" in name)
    return {int(parts[4]) for parts in names if len(parts) == 6 and len(parts[5]) == len("0123456789abcdef.json")}


def main():
    pipe, fake, environment = (Path(word).absolute() for word in sys.argv[1:4])
    support.PIPE = str(pipe)
    hosts = []
    with support.Sandbox() as place, FakeBucket(fake, place.root / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        train = pipeline(place, f"gs://{BUCKET}/models", environment)
        train.update(config={**train["config"], "schedule": {"name": "const"}, "batch": {"rows": ROWS}}, steps=STEPS,
                     eval_every=0, checkpoint_every=EVERY, data_disk=DATA_DISK)
        place.source.write_bytes(support.corpus(documents=1500))
        place.stages["lines"]["partition"] = "256KiB"
        place.stages["packed"].update(seq_len=8, encoding="raw16", shards=3)
        place.write_file()
        try:
            hosts += [Host(place, number, 2) for number in range(2)]
            hosts[1].start()
            wait_for("host 1 waits", hosts, lambda: "waits until host 0 publishes 'tokenizer'" in hosts[1].text() or
                     "waits until host 0 publishes 'packed'" in hosts[1].text(), 30)
            hosts[0].start()
            wait_for("a checkpoint", hosts, lambda: hosts[1].events("ckpt_commit"))
            hosts[1].freeze_trainer()  # in mid-run on a machine of any speed
            wait_for("a checkpoint of all parts", hosts, lambda: markers(bucket), 50)
            hosts[1].lose()
            hosts[1].start()
            check([host.end() for host in hosts] == [0, 0], hosts[0].text() + hosts[1].text())
            check(not (hosts[1].work / "run.log").exists(), "host 1 has a log")
            again = figures(hosts[0])
            check(sorted(again) == list(range(1, STEPS + 1)), "steps are missing")
            twice = [step for step, found in again.items() if len(found) > 1]
            check(not twice, f"steps {twice} differ when they are taken again")
            attempts = sum("/attempts/" in name and not name.endswith(".end.json") for name in bucket.items(BUCKET))
            check(attempts == 2 and "was started again" in hosts[0].text(), f"{attempts} attempts\n" + hosts[0].text())
            check_disks(hosts, bucket)
            print(f"published in attempt {attempts}, and every repeated step gave the same loss", flush=True)

            alone = Host(place, 0, 1)
            alone.work, alone.said, alone.rows = (place.root / f"alone-{name}" for name in ("disk", "said", "rows"))
            hosts.append(alone)
            alone.start("--set", "stages.train.out=alone", "--set", "stages.train.data_disk=1GiB")
            check(alone.end() == 0, alone.text())
            check(samples(hosts[:2]) == samples([alone]), "one process reads other ids")
            single = figures(alone)
            for step, found in sorted(again.items())[:50]:  # then rounding adds up
                loss, norm = next(iter(found))
                other_loss, other_norm = next(iter(single[step]))
                check(abs(loss - other_loss) <= 1e-5 and abs(norm - other_norm) <= 1e-4,
                      f"step {step}: {loss} and {norm}, one process {other_loss} and {other_norm}")
            print("one process reads the same ids, and its first losses are the same to 1e-5")
            verified = subprocess.run([pipe, "verify", next(f"gs://{BUCKET}/{name[:-len('/result.json')]}" for name in
                                                            bucket.items(BUCKET) if name.endswith("/result.json"))],
                                      capture_output=True, text=True, timeout=60)
            check(verified.returncode == 0, verified.stdout + verified.stderr)
        finally:
            for host in hosts:
                host.kill()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
