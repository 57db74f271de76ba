#!/usr/bin/env python3
"""`pipe cp` of what is unusual: long names, what is no file, sources that change, copies that are killed.

    copies.py PIPE FAKE_GCS
"""

import os
import random
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from pathlib import Path

import stores
from fake_buckets import FakeBuckets
from scenarios import check, play, scenario

MIB = 1 << 20
CHUNK = "storage.objects.insert.chunk"


class Scenarios(stores.Scenarios):
    """One method each, with a directory and a bucket of its own."""

    def files(self, place):
        """{name: bytes} of the regular files below, without following links."""
        return {str(path.relative_to(self.root / place)): path.read_bytes()
                for path in (self.root / place).rglob("*") if stat.S_ISREG(path.lstat().st_mode)}

    def objects(self, prefix):
        return {name.removeprefix(f"{prefix}/"): self.buckets.get(self.bucket, name)
                for name in self.buckets.items(self.bucket) if name.startswith(f"{prefix}/")}

    def operations(self, name):
        return self.buckets.counts()["operations"].get(name, 0)

    def wait_for(self, process, what, holds):
        limit = time.monotonic() + 50
        while not holds():
            check(process.poll() is None, f"ended before {what}: {process.returncode}")
            check(time.monotonic() < limit, f"never {what}")
            time.sleep(0.002)

    def overwrite(self, path, data):
        """In place, with the old mtime put back: size, inode and mtime tell nothing."""
        before = path.stat()
        with path.open("r+b") as file:
            file.write(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = path.stat()
        check((before.st_size, before.st_ino, before.st_mtime_ns) == (after.st_size, after.st_ino, after.st_mtime_ns),
              "the change shows")

    # --- names

    @scenario
    def names_of_any_length_are_copied(self):
        kanji = "漢" * 85  # 255 bytes
        deep = "/".join(["d" * 255] * 3 + ["e" * 200])
        contents = {kanji: b"1", f"{'k' * 255}/{'l' * 201}.txt": b"2", deep: b"3", "x" * 200: b"4"}
        for name, data in contents.items():
            path = self.root / "here" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        there = f"gs://{self.bucket}"
        for source, target in (("here", f"{there}/up"), (f"{there}/up", "down"), (f"{there}/up", f"{there}/copy"),
                               ("down", "again")):
            check(self.pipe("cp", "-r", source, target)[0].startswith("copied 4 objects, "), f"to {target}")
        check(self.files("down") == contents and self.files("again") == contents, "a directory")
        check(self.objects("up") == contents and self.objects("copy") == contents, "a bucket")
        check(len(self.pipe("ls", "-r", "here")[0].splitlines()) == 4, "ls")

    @scenario
    def names_that_the_target_refuses_are_left_out(self):
        long, there = "n" * 900, f"gs://{self.bucket}"
        for name in ("far/a", f"far/{long}", "far/b/c", "far/b", "far/b/d/e"):
            self.buckets.put(self.bucket, name, name.encode())
        out, err = self.pipe("cp", "-r", f"{there}/far", "near", code=1)
        check(out.startswith("copied 3 objects, ") and out.endswith("; 2 were left out\n"), out)
        check(sorted(self.files("near")) == ["a", "b/c", "b/d/e"], f"{self.files('near')}")
        check(f"{there}/far/{long}: is left out: " in err and "900 bytes" in err, err)
        check(f"{there}/far/b: is left out: " in err and "a file and a directory of one name" in err, err)
        # Another bucket takes them all.
        check(self.pipe("cp", "-r", f"{there}/far", f"{there}/else")[0].startswith("copied 5 objects, "), "a bucket")
        (self.root / "odd").mkdir()
        for name in (b"bad-\xff\xfe", b"line\nend", b"good"):
            Path(os.fsdecode(os.fsencode(self.root / "odd") + b"/" + name)).write_bytes(b"x")
        out, err = self.pipe("cp", "-r", "odd", f"{there}/odd", code=1, errors="backslashreplace")
        check(out.startswith("copied 1 object, ") and out.endswith("; 2 were left out\n"), out)
        check(err.count("takes UTF-8 without line ends") == 2, err)
        check(sorted(self.objects("odd")) == ["good"], "the rest")
        self.pipe("cp", "-r", "odd", "odd-copy", errors="backslashreplace")

    @scenario
    def what_is_no_file_is_left_out(self):
        contents = {"a": b"1", "dir/b": b"2"}
        for name, data in contents.items():
            (self.root / "here" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / "here" / name).write_bytes(data)
        here, wanted = self.root / "here", contents | {"to-file": b"1"}
        (here / "to-file").symlink_to("a")
        (here / "to-dir").symlink_to("dir")
        (here / "dir/to-nothing").symlink_to("nothing")
        os.mkfifo(here / "pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            os.chdir(here)
            listener.bind("socket")
            reasons = {"to-dir": "a link to a directory", "dir/to-nothing": "a link that leads nowhere",
                       "pipe": "a pipe", "socket": "a socket"}
            for target in (f"gs://{self.bucket}/up", "copy"):
                out, err = self.pipe("cp", "-r", "here", target, code=1)
                check(out.startswith("copied 3 objects, ") and out.endswith("; 4 were left out\n"), out)
                for name, why in reasons.items():
                    check(f"here/{name}: is left out: {why}" in err, f"{name}: {err}")
                check(self.pipe("cp", "-r", "here", target, code=1)[0] ==
                      "copied 0 objects, 0 B; 3 objects were there already; 4 were left out\n", "again")
            for depth in ([], ["-r"]):
                err = self.pipe("ls", *depth, "here")[1]
                check("here/to-dir: is not listed: a link to a directory" in err and "here/pipe: is not" in err, err)
        check(self.files("copy") == wanted and self.objects("up") == wanted, "the rest")

    @scenario
    def objects_without_a_name_here_are_left_out(self):
        for name in ("p/a", "p/b//c", "p/b/./d", "p/b/e", "p/../f", "p/line\nend"):
            self.buckets.put(self.bucket, name, b"x")
        self.buckets.put(self.bucket, "p/mark/", b"")  # how consoles show an empty directory
        there = f"gs://{self.bucket}/p"
        for target in ("down", f"gs://{self.bucket}/q"):
            out, err = self.pipe("cp", "-r", there, target, code=1)
            check(out.startswith("copied 2 objects, ") and out.endswith("; 4 were left out\n"), out)
            for name in ("b//c", "b/./d", "../f"):
                check(f"{there}/{name}: is left out: " in err, f"{name}: {err}")
                check("mark" not in err, err)
        check(sorted(self.files("down")) == ["a", "b/e"], f"{self.files('down')}")
        self.buckets.put(self.bucket, "p/b", b"file")
        out, err = self.pipe("cp", "-r", f"{there}/b", "b", code=1)
        check(f"{there}/b: is left out: is an object beside a directory" in err, err)
        err = self.pipe("cp", "-r", f"{there}/b/", "b", code=1)[1]
        check("beside" not in err and "left out" in err, err)
        self.buckets.ask(f"/storage/v1/b/{self.bucket}/o/p%2Fb", method="DELETE")
        out, err = self.pipe("ls", "-r", there)
        check(out == f"{there}/a\n{there}/b/e\n" and err.count("is not listed") == 4, out + err)

    @scenario
    def patterns_pass_over_no_object(self):
        """A source that cannot be read under its name is a mistake, not a smaller corpus."""
        self.buckets.put(self.bucket, "c/1.txt", b"one\n\n")
        self.buckets.put(self.bucket, "c/", b"")
        (self.root / "p.yaml").write_text(f"""\
pipe: 1
name: tiny
stages:
  source: {{ type: download, url: "gs://{self.bucket}/c/*" }}
  lines: {{ type: decompress, input: source }}
  docs: {{ type: split, input: lines, splits: {{ train: rest }} }}
  text: {{ type: write_tfds, input: docs, name: tiny, version: 1.0.0, shards: 1, out: out }}
""", encoding="utf-8")
        self.buckets.put(self.bucket, "c/2\n.txt", b"two\n\n")
        err = self.pipe("run", "p.yaml", code=2)[1]
        check("cannot be read under its name" in err and "line ends" in err, err)
        self.buckets.ask(f"/storage/v1/b/{self.bucket}/o/c%2F2%0A.txt", method="DELETE")
        self.pipe("run", "p.yaml")

    @scenario
    def an_artifact_that_lost_an_object_is_not_shown(self):
        for name in ("whole/MANIFEST.json", "whole/a", "half/MANIFEST.json", "half/a", f"half/b/{'n' * 300}"):
            self.buckets.put(self.bucket, f"s/{name}", b"{}")
        out, err = self.pipe("cp", "-r", f"gs://{self.bucket}/s", "d", code=1)
        check(sorted(self.files("d")) == ["half/a", "whole/MANIFEST.json", "whole/a"], f"{self.files('d')}")
        check(out.endswith("; 2 were left out\n") and "half/MANIFEST.json: is left out, since" in err, out + err)

    # --- what a bucket is asked for, and told

    @scenario
    def many_objects_are_not_asked_for_one_by_one(self):
        for number in range(40):
            self.buckets.put(self.bucket, f"m/{number:02}", b"x" * number)
        before = self.buckets.counts()["operations"]
        self.buckets.fault("storage.objects.get", "return-404")  # whoever asks hears that it is gone
        self.pipe("cp", "-r", f"gs://{self.bucket}/m/", "down")
        after = self.buckets.counts()["operations"]
        more = {name: number - before.get(name, 0) for name, number in after.items() if number != before.get(name, 0)}
        check(more.get("storage.objects.read") == 40 and sum(more.values()) < 50, f"asked for {more}")
        check(len(self.files("down")) == 40, "not all came")

    @scenario
    def an_object_replaced_since_it_was_listed_arrives_new(self):
        self.buckets.put(self.bucket, "r/a", bytes(200_000))
        self.buckets.fault("storage.objects.read", "overwrite-after-64K")
        self.pipe("cp", "-r", f"gs://{self.bucket}/r/", "down")
        check(self.files("down") == {"a": self.buckets.get(self.bucket, "r/a")}, "not what is there now")

    @scenario
    def a_bucket_is_told_what_it_holds(self):
        types = {"a.json": "application/json", "b.html": "text/html; charset=utf-8", "c": "application/octet-stream",
                 "d.txt": "text/plain; charset=utf-8", "e.yaml": "application/yaml"}
        (self.root / "t").mkdir()
        for name in types:
            (self.root / "t" / name).write_bytes(b"x" * (9_000_000 if name == "d.txt" else 1))
        self.pipe("cp", "-r", "t", f"gs://{self.bucket}/t")
        self.pipe("cp", "-r", f"gs://{self.bucket}/t", f"gs://{self.bucket}/u")
        items = self.buckets.items(self.bucket)
        for place in ("t", "u"):
            found = {name: items[f"{place}/{name}"]["contentType"] for name in types}
            check(found == types, f"{place}: {found}")

    # --- sources that change

    @scenario
    def a_source_overwritten_during_its_upload_arrives_whole(self):
        path, new = self.root / "big", random.Random(1).randbytes(40 * MIB)
        for turn, (touches, sessions) in enumerate((
                (lambda: self.overwrite(path, new), 2), (lambda: path.chmod(0o600), 1),
                (lambda: os.link(path, self.root / "link"), 1))):
            path.write_bytes(bytes([turn]) * (40 * MIB))
            before, begun = self.operations(CHUNK), self.operations("storage.objects.insert.start")
            self.buckets.fault(CHUNK, "stall-for-400ms-after-300K")
            process = self.start("cp", "--force", "big", f"gs://{self.bucket}/big")
            self.wait_for(process, "in the middle", lambda: self.operations(CHUNK) > before)
            process.send_signal(signal.SIGSTOP)
            touches()
            process.send_signal(signal.SIGCONT)
            out, err = process.communicate(timeout=60)
            check(process.returncode == 0, f"exit {process.returncode}: {out}{err}")
            check(self.buckets.get(self.bucket, "big") == path.read_bytes(), "another state than the source has")
            begun = self.operations("storage.objects.insert.start") - begun
            check(begun == sessions, f"{begun} sessions, expected {sessions}")
        check(self.buckets.counts()["open_sessions"] == 0, "a session was left open")

    @scenario
    def a_source_overwritten_during_its_copy_arrives_whole(self):
        old, new = (random.Random(seed).randbytes(4 * MIB) * 20 for seed in (1, 2))
        for turn in range(2):
            path, target = self.root / "big", self.root / f"copy-{turn}/big"
            path.write_bytes(old)
            target.parent.mkdir()
            process = self.start("cp", "big", target)

            def is_half_written():
                sizes = [one.stat().st_size for one in target.parent.glob(".big.tmp.*")]
                return process.poll() is not None or (sizes and sizes[0] > 4 * MIB)

            while not is_half_written():
                pass
            process.send_signal(signal.SIGSTOP)  # a copy that the file system shares may be over by now
            self.overwrite(path, new)
            process.send_signal(signal.SIGCONT)
            out, err = process.communicate(timeout=60)
            check(process.returncode == 0, f"exit {process.returncode}: {out}{err}")
            check(target.read_bytes() in (old, new), "a mixture")

    @scenario
    def a_source_of_a_run_counts_by_its_bytes(self):
        """What moves ctime alone is looked at: a chmod or a link is no change, other bytes with the old time are."""
        source = self.root / "c.txt"
        (self.root / "p.yaml").write_text("""\
pipe: 1
name: tiny
vars: { out: out }
stages:
  source: { type: download, url: c.txt }
  lines: { type: decompress, input: source, keep: true }
  docs: { type: split, input: lines, splits: { train: rest } }
  text: { type: write_tfds, input: docs, name: tiny, version: 1.0.0, shards: 1, out: "${out}" }
""", encoding="utf-8")

        def text(word):
            return (f"{word} {'x' * 3000}\n\n" * 12_000).encode()

        def words_of(place):
            return {line.split()[0] for line in self.pipe("cat", f"{place}/tiny/1.0.0")[0].splitlines()}

        def begin(*words):
            """A run that stands still in the middle of reading."""
            while True:
                process = self.start(*words)
                self.wait_for(process, "in the middle", lambda: list((self.root / words[3]).glob("artifacts/*/.*.part.tmp.*")))
                process.send_signal(signal.SIGSTOP)
                if not list((self.root / words[3]).rglob("*.part")):
                    return process
                process.kill()  # too late: it has read all
                process.communicate()
                shutil.rmtree(self.root / words[3])

        changes = {"chmod": (lambda: source.chmod(0o600), 0), "ln": (lambda: os.link(source, self.root / "link"), 0),
                   "bytes": (lambda: self.overwrite(source, text("two")), 1)}
        for name, (change, code) in changes.items():
            source.write_bytes(text("one"))
            words = ("run", "p.yaml", "--work", f"work-{name}", "--set", f"out={name}")
            process = begin(*words)
            change()
            process.send_signal(signal.SIGCONT)
            out, err = process.communicate(timeout=60)
            check(process.returncode == code, f"{name}: exit {process.returncode}, expected {code}: {out}{err}")
            check(code == 0 or "c.txt: was changed since this run began" in err, err)
            if code != 0:
                self.pipe(*words)
            check(words_of(name) == {"two" if code else "one"}, name)
        # Between two runs.
        self.overwrite(source, text("six"))
        self.pipe(*words, "--force", "text")
        check(words_of("bytes") == {"six"}, "the old file was taken for the new one")

    # --- copies that are killed

    @scenario
    def a_killed_upload_goes_on(self):
        """After each kill the next one sends only what the bucket has not taken; a changed source begins anew."""
        data = random.Random(3).randbytes(48 * MIB)
        (self.root / "big").write_bytes(data)
        target = f"gs://{self.bucket}/big"
        begun = self.operations("storage.objects.insert.start")

        def kill(sign, kib):
            before = self.operations(CHUNK)
            self.buckets.fault(CHUNK, f"stall-for-700ms-after-{kib}K")
            process = self.start("cp", "big", target)
            # The first request of one that goes on asks how far it is.
            self.wait_for(process, "in the middle", lambda: self.operations(CHUNK) > before)
            time.sleep(0.2)
            process.send_signal(sign)
            process.communicate(timeout=60)
            check(process.returncode != 0, "was not killed")

        for number, sign in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGINT)):
            kill(sign, 2_000 * (number + 1))
        check(self.pipe("cp", "big", target)[0].startswith("copied 1 object, "), "did not go on")
        check(self.buckets.get(self.bucket, "big") == data, "other bytes")
        starts = self.operations("storage.objects.insert.start") - begun
        check(starts == 1, f"{starts} sessions, where one would do")
        check(self.buckets.counts()["open_sessions"] == 0, "a session was left open")

        (self.root / "big").write_bytes(data[::-1])
        target = f"gs://{self.bucket}/other"
        kill(signal.SIGKILL, 2_000)
        self.overwrite(self.root / "big", data)
        self.pipe("cp", "big", target)
        check(self.buckets.get(self.bucket, "other") == data, "the front of one source and the rest of another")
        check(self.buckets.counts()["open_sessions"] == 0, "the session of the other source was left open")


def main():
    pipe, fake = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as place, FakeBuckets(fake, Path(place) / "buckets") as buckets:
        scenarios = Scenarios(pipe, buckets, Path(place))
        play(scenarios, sys.argv[3:], scenarios.begin)


if __name__ == "__main__":
    main()
