#!/usr/bin/env python3
"""Sources in a bucket: objects that match a pattern, parts of a large object, checksums in the form that a bucket
prints.

    bucket_source.py PIPE FAKE_GCS
"""

import base64
import json
import lzma
import os
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

from fake_buckets import BUCKET, FakeBucket
from pipe_run import Run, corpus, differences, hold, text_line
from scenarios import play, scenario

TEXTS = [lzma.compress(corpus(seed, 600_000), preset=1) for seed in (31, 32, 33)]
PLAIN = corpus(34, 2_500_000) * 7  # is downloaded in more than two parts


def put(bucket, name, data):
    url = f"{bucket.url}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={urllib.parse.quote(name, safe='')}"
    urllib.request.urlopen(urllib.request.Request(url, data=data, method="POST"), timeout=20).close()


def crc32c(bucket, name):
    url = f"{bucket.url}/storage/v1/b/{BUCKET}/o/{urllib.parse.quote(name, safe='')}"
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.load(answer)["crc32c"]


class Scenarios:
    def __init__(self, program, root, bucket):
        self.program, self.root, self.bucket = program, root, bucket

    def run(self, name, url, more=""):
        return Run(self.program, self.root / name, text_line("remote", 2).replace('"${corpus}"', f"{url}{more}"))

    def wanted(self, name, *files):
        """The files that a run from these local files publishes."""
        root = self.root / f"{name}-files"
        root.mkdir()
        for file, data in files:
            (root / file).write_bytes(data)
        run = self.run(f"{name}-local", f"[{', '.join(str(root / file) for file, _ in files)}]")
        hold(run.finish() == 0, run, "the run from files failed")
        return run.published(lineage=False)

    def same(self, run, wanted):
        hold(run.finish() == 0, run, "failed")
        found = differences(wanted, run.published(lineage=False))
        hold(not found, run, f"other bytes than from files: {found}")

    @scenario
    def a_pattern_matches_objects_by_name(self):
        wanted = self.wanted("pattern", ("a.txt.xz", TEXTS[0]), ("b.txt.xz", TEXTS[1]))
        for name, data in (("ja/b.txt.xz", TEXTS[1]), ("ja/a.txt.xz", TEXTS[0]), ("ja/.c.txt.xz", TEXTS[2]),
                           ("ja/deep/d.txt.xz", TEXTS[2]), ("ja/e.txt", TEXTS[2]), ("jb/a.txt.xz", TEXTS[2])):
            put(self.bucket, name, data)
        run = self.run("pattern", f"gs://{BUCKET}/ja/*.txt.xz")
        self.same(run, wanted)
        put(self.bucket, "ja/f.txt.xz", TEXTS[2])
        hold(run.finish() == 2 and "another recipe" in run.messages(), run, "one object more was not noticed")
        run = self.run("pattern-of-directories", f'"gs://{BUCKET}/j?/a.txt.xz"')
        hold(run.finish() == 0 and len(list(run.work.glob("sources/*a.txt.xz"))) == 2, run, "not two files")

    @scenario
    def a_pattern_that_nothing_fits(self):
        run = self.run("nothing", f"gs://{BUCKET}/ko/*.txt.xz")
        code = run.finish()
        hold(code == 2 and "no object has such a name" in run.messages(), run, f"exit {code}")

    @scenario
    def a_dry_run_asks_no_bucket(self):
        run = self.run("dry", f"gs://{BUCKET}/ja/*.txt.xz")
        endpoint = os.environ["STORAGE_EMULATOR_HOST"]
        os.environ["STORAGE_EMULATOR_HOST"] = "http://127.0.0.1:1"
        code = run.finish("-n")
        os.environ["STORAGE_EMULATOR_HOST"] = endpoint
        hold(code == 0 and "is not listed here; --ask lists it" in run.messages(), run, f"exit {code}")
        hold(run.finish("-n", "--ask") == 0, run, "could not ask")

    @scenario
    def a_name_with_a_wildcard_is_a_name(self):
        put(self.bucket, "odd/what?.txt.xz", TEXTS[0])
        put(self.bucket, "odd/whats.txt.xz", TEXTS[1])
        self.same(self.run("odd", f'"gs://{BUCKET}/odd/what?.txt.xz"'), self.wanted("odd", ("a.txt.xz", TEXTS[0])))

    @scenario
    def parts_of_a_large_object(self):
        put(self.bucket, "large/corpus.txt", PLAIN)
        wanted = self.wanted("large", ("corpus.txt", PLAIN))
        self.same(self.run("large", f"gs://{BUCKET}/large/corpus.txt"), wanted)
        checksum = crc32c(self.bucket, "large/corpus.txt")
        hold(len(base64.b64decode(checksum)) == 4, None, "no checksum")
        url = f"gs://{BUCKET}/large/corpus.txt"
        self.same(self.run("large-pinned", url, f", checksum: 'crc32c:{checksum}'"), wanted)
        run = self.run("large-wrong", url, ", checksum: 'crc32c:00000000'")
        code = run.finish()
        hold(code == 1 and "crc32c:00000000 was wanted" in run.messages(), run, f"exit {code}")


def main():
    pipe, fake = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as root, FakeBucket(fake, Path(root) / "bucket") as bucket:
        os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
        play(Scenarios(pipe, Path(root), bucket), sys.argv[3:])


if __name__ == "__main__":
    main()
