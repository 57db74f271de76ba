#!/usr/bin/env python3
"""`pipe ls`, `pipe cp` and `pipe cat` on every store: directories, buckets and web servers.

    stores.py PIPE FAKE_GCS
"""

import gzip
import json
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from fake_buckets import FakeBuckets
from scenarios import check, play, scenario
from web_server import WebServer

SECRET = "part=hidden0123456789"


class Scenarios:
    """One method per scenario, with a directory and a bucket of its own."""

    def __init__(self, pipe, buckets, root):
        self.program, self.buckets, self.base = pipe, buckets, root
        self.root, self.bucket = root, ""

    def begin(self, name):
        """Makes a directory and a bucket for the scenario; returns its arguments: none."""
        self.root = self.base / name
        self.root.mkdir()
        self.bucket = name.replace("_", "-")[:50]
        self.buckets.make(self.bucket)
        return ()

    def start(self, *words, errors="strict"):
        environment = {**self.buckets.emulator(), "TMPDIR": str(self.base)}
        return subprocess.Popen([self.program, *map(str, words)], env=environment, cwd=self.root, text=True,
                                errors=errors, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def pipe(self, *words, code=0, errors="strict"):
        """Runs it; returns its standard output and its standard error."""
        process = self.start(*words, errors=errors)
        out, err = process.communicate(timeout=60)
        check(process.returncode == code, f"pipe {words}: exit {process.returncode}, expected {code}\n{out}{err}")
        check("hidden" not in out + err, f"pipe {words}: shows what is secret\n{out}{err}")
        return out, err

    def fill(self):
        """Puts the same objects into the directory `here` and into the bucket below `there`."""
        contents = {"a.txt": b"one\n", "b/c.txt": b"two\n", "b/d/e.bin": bytes(range(256)) * 100, "b.txt": b""}
        for name, data in contents.items():
            path = self.root / "here" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            self.buckets.put(self.bucket, f"there/{name}", data)
        return contents

    # --- ls

    @scenario
    def ls_tells_names_in_order(self):
        self.fill()
        there, location = f"gs://{self.bucket}/there", "here"
        check(self.pipe("ls", location)[0] == "here/a.txt\nhere/b.txt\nhere/b/\n", "a directory by level")
        check(self.pipe("ls", "-r", location)[0] == "here/a.txt\nhere/b.txt\nhere/b/c.txt\nhere/b/d/e.bin\n", "a directory")
        check(self.pipe("ls", there)[0] == f"{there}/a.txt\n{there}/b.txt\n{there}/b/\n", "a bucket by level")
        check(self.pipe("ls", "-r", there)[0] == "".join(
            f"{there}/{name}\n" for name in ("a.txt", "b.txt", "b/c.txt", "b/d/e.bin")), "a bucket")
        check(self.pipe("ls", f"gs://{self.bucket}")[0] == f"{there}/\n", "the root of a bucket")
        check(self.pipe("ls", f"file://{self.root}/here/b")[0] == f"{self.root}/here/b/c.txt\n{self.root}/here/b/d/\n",
              "file://")

    @scenario
    def ls_tells_sizes_and_checksums(self):
        self.fill()
        there = f"gs://{self.bucket}/there"
        check(self.pipe("ls", "-l", "here")[0] == "4\t-\there/a.txt\n0\t-\there/b.txt\n-\t-\there/b/\n", "a directory")
        lines = self.pipe("ls", "-l", f"{there}/a.txt", f"{there}/b")[0].splitlines()
        check(lines[1:] == [f"4\t{crc('two' + chr(10))}\t{there}/b/c.txt", f"-\t-\t{there}/b/d/"], f"a bucket: {lines}")
        check(lines[0] == f"4\t{crc('one' + chr(10))}\t{there}/a.txt", f"an object: {lines}")

    @scenario
    def ls_walks_pages(self):
        for number in range(30):
            self.buckets.put(self.bucket, f"many/{number // 3:02}/{number:02}", b"x")
        for word in ("pages-of-4", "pages-of-1", "empty-page", "pages-of-3"):
            self.buckets.fault("storage.objects.list", word)
        out = self.pipe("ls", f"gs://{self.bucket}/many/")[0]
        check(out == "".join(f"gs://{self.bucket}/many/{number:02}/\n" for number in range(10)), f"pages: {out}")
        check(len(self.pipe("ls", "-r", f"gs://{self.bucket}")[0].splitlines()) == 30, "all")

    @scenario
    def ls_says_what_is_not_there(self):
        self.fill()
        out, err = self.pipe("ls", "here/nothing", "here/a.txt", code=2)
        check(out == "here/a.txt\n" and "here/nothing: there is no such file" in err, f"a directory: {err}")
        check("no such object, and none below it" in self.pipe("ls", f"gs://{self.bucket}/nowhere", code=2)[1], "a bucket")
        check("gcloud storage buckets create gs://no-such-bucket" in self.pipe("ls", "gs://no-such-bucket", code=2)[1],
              "no bucket")
        check("ftp" in self.pipe("ls", "here", "ftp://host/a", code=2)[1], "a scheme")
        self.buckets.make("empty-bucket")
        check(self.pipe("ls", "gs://empty-bucket")[0] == "", "an empty bucket")

    @scenario
    def ls_of_a_web_server(self):
        server = WebServer(b"x" * 1000, "corpus.txt")
        check(self.pipe("ls", "-l", f"{server.url}?{SECRET}")[0] == f"1000\t-\t{server.url}\n", "a file")
        err = self.pipe("ls", server.url.removesuffix("corpus.txt"), code=1)[1]
        check("cannot be listed" in err, err)
        server.stop()

    # --- cp

    @scenario
    def cp_between_any_two(self):
        contents = self.fill()
        there = f"gs://{self.bucket}"
        ways = [("here", f"{there}/up"), (f"{there}/up", "down"), (f"{there}/up", f"{there}/copy"), ("down", "again")]
        for source, target in ways:
            out = self.pipe("cp", "-r", source, target)[0]
            check(out.startswith("copied 4 objects, "), out)
            out = self.pipe("cp", "-r", source, target)[0]
            check(out == "copied 0 objects, 0 B; 4 objects were there already\n", out)
        for location in ("down", "again"):
            found = {str(path.relative_to(self.root / location)): path.read_bytes()
                     for path in (self.root / location).rglob("*") if path.is_file()}
            check(found == contents, f"{location}: {sorted(found)}")
        for prefix in ("up", "copy"):
            items = {name.removeprefix(f"{prefix}/"): item for name, item in self.buckets.items(self.bucket).items()
                     if name.startswith(prefix)}
            check(sorted(items) == sorted(contents), f"{prefix}: {sorted(items)}")
            check(all(self.buckets.get(self.bucket, f"{prefix}/{name}") == data for name, data in contents.items()), prefix)
        links = [path for path in (self.root / "again").rglob("*") if path.is_file() and path.stat().st_nlink > 1]
        check(not links, f"a copy that is the same file: {links}")

    @scenario
    def cp_names_one_object(self):
        self.fill()
        there = f"gs://{self.bucket}"
        (self.root / "dir").mkdir()
        for source, target, made in (("here/a.txt", "x.txt", "x.txt"), ("here/a.txt", "dir", "dir/a.txt"),
                                     ("here/a.txt", "new/", "new/a.txt"), (f"{there}/there/a.txt", "y.txt", "y.txt"),
                                     (f"{there}/there/a.txt", ".", "a.txt")):
            self.pipe("cp", source, target)
            check((self.root / made).read_bytes() == b"one\n", made)
        for target, made in ((there, "a.txt"), (f"{there}/dir/", "dir/a.txt"), (f"{there}/z", "z")):
            self.pipe("cp", "here/a.txt", target)
            check(self.buckets.get(self.bucket, made) == b"one\n", made)
        for source in ("here", f"{there}/there"):
            check("is a directory; -r copies" in self.pipe("cp", source, "w", code=2)[1], source)
        check("no such" in self.pipe("cp", "here/none", "w", code=2)[1], "nothing to copy")
        check("cannot be written to" in self.pipe("cp", "here/a.txt", "http://127.0.0.1:1/a", code=2)[1], "to the web")

    @scenario
    def cp_refuses_other_bytes(self):
        self.fill()
        for target in (self.root / "held.txt", f"gs://{self.bucket}/held.txt"):
            self.pipe("cp", "here/a.txt", target)
            for other in ("here/b/c.txt", "here/b/d/e.bin"):  # of the same size, and of another
                err = self.pipe("cp", other, target, code=1)[1]
                check("is there already, with other bytes" in err and "--force" in err, err)
            check(self.pipe("cat", target)[0] == "one\n", f"{target}: was replaced unasked")
            self.pipe("cp", "--force", "here/b/c.txt", target)
            check(self.pipe("cat", target)[0] == "two\n", f"{target}: was not replaced")

    @scenario
    def cp_goes_on(self):
        """One different object does not stop the others; only missing objects are copied."""
        self.fill()
        self.pipe("cp", "here/b/c.txt", "some/a.txt")
        out, err = self.pipe("cp", "-r", "here", "some", code=1)
        check("some/a.txt: is there already" in err and out.startswith("copied 3 objects"), out + err)
        (self.root / "some/b/c.txt").unlink()
        self.pipe("cp", "-r", "--force", "here", "some")
        check((self.root / "some/a.txt").read_bytes() == b"one\n", "not replaced")
        check((self.root / "some/b/c.txt").read_bytes() == b"two\n", "not copied again")

    @scenario
    def cp_from_the_web(self):
        data = random.Random(1).randbytes(300_000)
        server = WebServer(data, "corpus.bin", break_every=100_000)
        for target in ("w/", f"gs://{self.bucket}/w/"):
            self.pipe("cp", f"{server.url}?{SECRET}", target)
            check(self.pipe("cp", f"{server.url}?{SECRET}", target)[0].endswith("1 object was there already\n"), target)
        check((self.root / "w/corpus.bin").read_bytes() == data, "a directory")
        check(self.buckets.get(self.bucket, "w/corpus.bin") == data, "a bucket")
        check("not found" in self.pipe("cp", f"{server.url}.gz?{SECRET}", "w/", code=2)[1], "what is not there")
        server.stop()

    @scenario
    def cp_through_faults(self):
        chance = random.Random(7)
        for number in range(6):
            (self.root / "big").mkdir(exist_ok=True)
            (self.root / f"big/{number}").write_bytes(chance.randbytes(chance.choice((100, 700_000, 9_000_000))))
        for word in ("return-503", "return-reset-connection-after-300K", "return-corrupted-data", "return-408"):
            self.buckets.fault("storage.objects.insert", word)
        self.pipe("cp", "-r", "big", f"gs://{self.bucket}/big")
        for word in ("return-corrupted-data", "return-broken-stream-after-64K", "return-503", "return-wrong-etag"):
            self.buckets.fault("storage.objects.read", word)
        self.pipe("cp", "-r", f"gs://{self.bucket}/big", "back")
        for number in range(6):
            check((self.root / f"big/{number}").read_bytes() == (self.root / f"back/{number}").read_bytes(), f"{number}")
        check(self.buckets.counts()["open_sessions"] == 0, "a session was left open")

    @scenario
    def cp_leaves_the_copying_to_the_servers(self):
        self.buckets.put(self.bucket, "a", b"x" * 1000)
        before = self.buckets.counts()["operations"]
        self.pipe("cp", f"gs://{self.bucket}/a", f"gs://{self.bucket}/b")
        after = self.buckets.counts()["operations"]
        more = {name for name in after if after[name] != before.get(name)}
        check("storage.objects.rewrite" in more and "storage.objects.read" not in more, f"asked for: {more}")

    @scenario
    def cp_shows_an_artifact_last(self):
        """Half a data set looks incomplete: if an object is missing, so is the manifest."""
        for name in ("MANIFEST.json", "dataset_info.json", "a.tfrecord", "features.json", "z.tfrecord"):
            (self.root / "set").mkdir(exist_ok=True)
            (self.root / "set" / name).write_text(name)
        self.buckets.put(self.bucket, "set/z.tfrecord", b"another")
        self.pipe("cp", "-r", "set", f"gs://{self.bucket}/set", code=1)
        check(sorted(self.buckets.items(self.bucket)) == ["set/a.tfrecord", "set/z.tfrecord"], "it is shown")

    @scenario
    def cp_stops_when_told(self):
        """No object is half-written; the next copy continues."""
        (self.root / "big").mkdir()
        for number in range(40):
            (self.root / f"big/{number:02}").write_bytes(random.Random(number).randbytes(9_000_000 if number < 4 else 10))
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            target = f"gs://{self.bucket}/{code}"
            for _ in range(4):
                self.buckets.fault("storage.objects.insert.chunk", "stall-for-1500ms-after-300K")
            chunks, began = "storage.objects.insert.chunk", self.buckets.counts()["operations"]
            process = self.start("cp", "-r", "big", target)
            # In the middle of four uploads: a copy may never learn of a session that it has only just requested.
            while self.buckets.counts()["operations"].get(chunks, 0) < began.get(chunks, 0) + 4:
                check(process.poll() is None, "ended before it was told to")
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            check(process.returncode == code, f"exit {process.returncode}\n{err}")
            done = len([name for name in self.buckets.items(self.bucket) if name.startswith(f"{code}/")])
            check(done < 40, f"{done} objects")
            # Requests on their way at the stop may have succeeded, too: the copy did not wait for their responses.
            check(code < 0 or int(out.split()[1]) <= done and "the same command goes on" in err, f"{done}: {out}{err}")
            copied = int(self.pipe("cp", "-r", "big", target)[0].split()[1])
            there = len([name for name in self.buckets.items(self.bucket) if name.startswith(f"{code}/")])
            check(copied <= 40 - done and there == 40, f"{done}, then {copied}, in all {there}: did not go on")
        check(self.buckets.counts()["open_sessions"] == 0, "a session was left open")

    # --- cat

    @scenario
    def cat_reads_text_anywhere(self):
        text = "吾輩は猫である。\n名前はまだ無い。\nend"
        for name, data in (("a.txt", text.encode()), ("a.txt.gz", gzip.compress(text.encode()))):
            (self.root / name).write_bytes(data)
            self.buckets.put(self.bucket, f"d/{name}", data)
            server = WebServer(data, name)
            for location in (name, f"gs://{self.bucket}/d/{name}", f"{server.url}?{SECRET}"):
                check(self.pipe("cat", location)[0] == text + "\n", f"{location}: text")
                check(self.pipe("cat", location, "-l", "2")[0] == "吾輩は猫である。\n名前はまだ無い。\n", f"{location}: -l")
                lines = [json.loads(line) for line in self.pipe("cat", location, "--json")[0].splitlines()]
                check(lines[1] == {"line": 2, "text": "名前はまだ無い。"}, f"{location}: {lines}")
            server.stop()
        self.buckets.put(self.bucket, "d/noise", bytes(range(128, 256)) * 4)
        check("not an object of this program" in self.pipe("cat", f"gs://{self.bucket}/d/noise", code=2)[1], "noise")
        check("no artifact" in self.pipe("cat", f"gs://{self.bucket}/d", code=2)[1], "a directory")
        check("no artifact" in self.pipe("cat", f"gs://{self.bucket}/none", code=2)[1], "nothing")

    @scenario
    def cat_reads_artifacts_and_their_objects(self):
        (self.root / "c.txt").write_text("一\n\n二\n\n三\n", encoding="utf-8")
        (self.root / "p.yaml").write_text(f"""\
pipe: 1
name: tiny
stages:
  source: {{ type: download, url: c.txt }}
  lines: {{ type: decompress, input: source }}
  docs: {{ type: split, input: lines, splits: {{ train: rest }} }}
  text: {{ type: write_tfds, input: docs, name: tiny, version: 1.0.0, shards: 1, out: "gs://{self.bucket}/out" }}
""", encoding="utf-8")
        self.pipe("run", "p.yaml")
        location = f"gs://{self.bucket}/out/tiny/1.0.0"
        wanted = self.pipe("cat", location)[0]
        check(sorted(wanted.split()) == sorted("一二三"), wanted)
        shard = f"{location}/tiny-train.tfrecord-00000-of-00001"
        check(self.pipe("cat", shard)[0] == wanted, "a shard")
        check(json.loads(self.pipe("cat", shard, "--json", "-l", "1")[0])["split"] == "train", "as JSON")
        self.pipe("cp", "-r", location, "copy")
        check(self.pipe("cat", "copy")[0] == wanted, "a copy")
        self.pipe("verify", "copy")


def crc(text):
    """CRC-32C in the form that `pipe ls` prints."""
    value = 0xFFFFFFFF
    for byte in text.encode():
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 & -(value & 1))
    return f"{value ^ 0xFFFFFFFF:08x}"


def main():
    pipe, fake = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as location, FakeBuckets(fake, Path(location) / "buckets") as buckets:
        scenarios = Scenarios(pipe, buckets, Path(location))
        play(scenarios, sys.argv[3:], scenarios.begin)


if __name__ == "__main__":
    main()
