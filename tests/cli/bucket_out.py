#!/usr/bin/env python3
"""A pipeline that publishes to a bucket: the same bytes as in a directory, whatever the bucket and the machine do.

    bucket_out.py PIPE FAKE_GCS
"""

import lzma
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from fake_buckets import BUCKET, FakeBucket
from pipe_run import Run, corpus, differences, hold, text_line
from web_server import WebServer

FILE = text_line("bucket", shards=6)
PACKED = lzma.compress(corpus(11, 2_000_000), preset=1)
OUT = f"gs://{BUCKET}/out"


class BucketRun(Run):
    def __init__(self, program, root, directory, source=None):
        super().__init__(program, root, FILE)
        self.out = directory
        self.source = source or root / "corpus.txt.xz"
        if not source:
            self.source.write_bytes(PACKED)

    def start(self, *options, kill_at=None):
        return super().start("--set", f"corpus={self.source}", *options, kill_at=kill_at)


def rewritten(before, now):
    """Names of objects that existed before and were written again, without those below .pipe/."""
    return [name for name in before if "/.pipe/" not in name and now.get(name, (None,))[0] != before[name][0]]


def published(objects, prefix):
    """{name below the prefix: bytes}, without objects below .pipe/."""
    return {name.removeprefix(prefix): data for name, (_, data) in objects.items() if "/.pipe/" not in name}


def scenario(pipe, fake, root, name, wanted, *options):
    with FakeBucket(fake, root / f"{name}.bucket", *options) as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        kills = through_kills(pipe, root, name, wanted, bucket)
    print(f"ok: {name}: {kills} kills; {bucket.told}", flush=True)


def through_kills(pipe, root, name, wanted, bucket):
    run, chance, kills = BucketRun(pipe, root / name, OUT), random.Random(name), 0
    while kills < 6:
        shards = chance.randrange(7) if kills else 0
        code = run.stop_when(lambda: run.log().done("text/.*s0") >= shards, signal.SIGKILL)
        kills += code < 0
        if code == 0:
            break
    hold(kills > 0, run, "it was never killed")
    hold(run.finish() == 0, run, "failed")
    objects = bucket.objects()
    found = published(objects, "out/")
    hold(not differences(wanted, found), run, f"other objects than in a directory: {differences(wanted, found)}")
    hold(run.verify(f"{run.out}/bucket/1.0.0") == 0, run, "does not verify")
    objects = bucket.objects()  # includes the record of the verification
    hold(run.finish() == 0 and bucket.objects() == objects, run, "what is done was written again")
    elsewhere = BucketRun(pipe, root / f"{name}-elsewhere", run.out)
    hold(elsewhere.finish() == 0 and bucket.objects() == objects, elsewhere,
         "another machine wrote what was in the bucket already")
    return kills


def moving(pipe, fake, root, wanted):
    """Each machine is killed, and the next has only the bucket: no object is written twice."""
    with FakeBucket(fake, root / "moving.bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        before, code, machines = {}, -9, 0
        while code < 0:
            run = BucketRun(pipe, root / f"moving-{machines}", OUT)
            # The first two are killed for certain; a later run may end before the condition is seen.
            code = (run.finish(kill_at="shard.logged:1") if machines < 2 else
                    run.stop_when(lambda: run.log().done("text/.*s0") > machines, signal.SIGKILL))
            machines += 1
            now = bucket.objects()
            hold(not rewritten(before, now), run, f"written again: {rewritten(before, now)}")
            gone = {name for name in before.keys() - now.keys() if "/.pipe/names/" not in name}  # its parts are merged
            hold(not gone, run, f"removed: {gone}")
            before = now
        hold(code == 0 and machines > 2, run, f"exit {code} after {machines} machines")
        hold(not differences(wanted, published(before, "out/")), run, "other objects than in a directory")
        hold(run.verify(f"{run.out}/bucket/1.0.0") == 0, run, "does not verify")
    print(f"ok: moving: {machines} machines; {bucket.told}", flush=True)


def one_writer(pipe, fake, root, wanted):
    """While a run lives, no other writes there. A run that seems dead is replaced, and stops when it wakes up."""
    with FakeBucket(fake, root / "writers.bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        server = WebServer(PACKED)
        server.here(len(PACKED) // 2)
        first, second = (BucketRun(pipe, root / name, OUT, server.url) for name in ("first", "second"))
        process = first.start()
        while not server.is_waiting() and process.poll() is None:
            time.sleep(0.01)
        hold(second.finish() == 2 and "is writing there" in second.messages(), second, "two runs at one location")
        process.send_signal(signal.SIGSTOP)
        server.here(len(PACKED))
        hold(second.finish() == 0 and "gave no sign of life" in second.messages(), second, "was not taken over")
        before = bucket.objects()
        server.here(len(PACKED) // 2)
        process.send_signal(signal.SIGCONT)
        code = process.wait(timeout=60)
        hold(code == 1 and "another run has taken it over" in first.messages(), first, f"exit {code}")
        server.here(len(PACKED))
        hold(first.finish() == 0 and not rewritten(before, bucket.objects()), first, "does not go on")
        found = differences(wanted, published(bucket.objects(), "out/"))
        # The manifest differs: it names another source.
        hold(found == ["bucket/1.0.0/MANIFEST.json: other bytes"], first, f"other objects: {found}")
        server.stop()
    print(f"ok: one writer; {bucket.told}", flush=True)


def main():
    pipe, fake = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        local = BucketRun(pipe, root / "local", root / "local/out")
        hold(local.finish() == 0, local, "the run to a directory failed")
        wanted = {str(path.relative_to(local.out)): path.read_bytes() for path in local.out.rglob("*")
                  if path.is_file() and ".pipe" not in path.parts}
        forecast = BucketRun(pipe, root / "forecast", OUT)
        hold(forecast.finish("-n") == 0 and "for shards on their way to buckets" in forecast.messages(), forecast,
             "the spool is not in the forecast")
        moving(pipe, fake, root, wanted)
        one_writer(pipe, fake, root, wanted)
        scenario(pipe, fake, root, "kills", wanted)
        scenario(pipe, fake, root, "faults", wanted, "--seed", "5", "--rate", "0.05")


if __name__ == "__main__":
    main()
