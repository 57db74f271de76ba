#!/usr/bin/env python3
"""Units of a work package in a bucket cost as many requests as dag/package/work_queue.md says, beside their data.

    unit_requests.py PIPE FAKE_GCS [INPUTS]    a unit for each input; 1,500 if they are not given
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from fake_buckets import BUCKET, FakeBucket
from pipe_run import Run, differences, hold

WORKERS = 8
# The most requests of each operation: for a unit, and for a worker, which reads the plan and its log, and looks again
# while another one plans.
MOST = {"insert.whole": (2, 20), "read": (1, 15), "list": (0.06, 30), "get": (0, 30), "storage.batch": (0.03, 5),
        "delete": (0, 5)}
PACKAGE = f"gs://{BUCKET}/package"
FILE = """\
pipe: 1
name: small
vars: {{ out: "" }}
limits: {{ memory: 512MiB }}
stages:
  source: {{ type: download, url: "{files}" }}
  lines: {{ type: decompress, input: source }}
  text: {{ type: write_tfds, input: lines, name: small, shards: 2, out: "${{out}}" }}
"""


def new_run(program, root):
    return Run(program, root, FILE.format(files=root.parent / "files" / "*.txt"))


def main():
    large = sum(unit * 10_000 + worker * 8 for unit, worker in MOST.values()) / 10_000
    hold(large <= 3.2, None, f"these are {large} for each of 10,000 units with 8 workers, and the page promises 3.2")
    program, fake = (Path(word).resolve() for word in sys.argv[1:3])
    inputs = int(sys.argv[3]) if sys.argv[3:] else 1500
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "files").mkdir()
        for number in range(inputs):
            (root / "files" / f"{number:05}.txt").write_text(f"file {number}\n" * 20)
        alone, run = new_run(program, root / "alone"), new_run(program, root / "many")
        hold(alone.finish() == 0, alone, "the run of one process failed")
        with FakeBucket(fake, root / "bucket") as bucket:
            environment = bucket.emulator()
            planned = subprocess.run([program, "plan", run.file, "-o", PACKAGE, "--work", run.work, "--set",
                                      f"out={run.out}"], env=environment, capture_output=True, text=True, timeout=60 + inputs // 50,
                                     check=False)
            hold(planned.returncode == 0, None, planned.stderr)
            before = bucket.counts()["operations"]
            workers = [subprocess.Popen([program, "worker", "--plan", PACKAGE, "--next", "-j", "1", "--scratch", str(root)],
                                        env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                       for _ in range(WORKERS)]
            said = [worker.communicate(timeout=100 + inputs // 10)[1] for worker in workers]
            hold({worker.returncode for worker in workers} == {0}, None, "".join(said))
            counts = {operation.removeprefix("storage.objects."): count - before.get(operation, 0)
                      for operation, count in bucket.counts()["operations"].items()}
        hold(not differences(alone.published(), run.published()), alone, "other bytes")
    units = inputs + 2
    told = ", ".join(f"{operation} {count / units:.3f}" for operation, count in sorted(counts.items()))
    for operation, count in counts.items():
        unit, worker = MOST.get(operation, (0, 0))
        hold(count <= unit * units + worker * WORKERS, None, f"{count} of {operation} for {units} units: {told}")
    hold(counts["insert.whole"] >= 2 * units and counts["read"] >= units, None, f"fewer requests than records: {told}")
    print(f"ok: {sum(counts.values()) / units:.3f} requests for each of {units} units: {told}")


if __name__ == "__main__":
    main()
