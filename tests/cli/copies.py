#!/usr/bin/env python3
"""`pipe cp` with unusual input: long names, things that are no files, sources that change, copies that are killed.

    copies.py PIPE FAKE_GCS
"""

import json
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
from web_server import WebServer

MIB = 1 << 20
COMPARED = 64 << 10  # bytes that a download which goes on fetches again and compares
READ = "storage.objects.read"
CHUNK = "storage.objects.insert.chunk"


class Scenarios(stores.Scenarios):
    """One method per scenario, with a directory and a bucket of its own."""

    def files(self, root):
        """{name: bytes} of the regular files below `root`, without following links."""
        return {str(path.relative_to(self.root / root)): path.read_bytes()
                for path in (self.root / root).rglob("*") if stat.S_ISREG(path.lstat().st_mode)}

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

    def freeze(self, process):
        """Stops the process; returns when none of its threads runs."""
        process.send_signal(signal.SIGSTOP)
        tasks = Path(f"/proc/{process.pid}/task")
        while any((task / "stat").read_text().rpartition(")")[2].split()[0] != "T" for task in tasks.iterdir()):
            time.sleep(0.001)

    def overwrite(self, path, data):
        """Overwrites the file in place and restores its mtime: size, inode and mtime stay the same."""
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
        # Another bucket as the target takes all five.
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
    def an_artifact_is_copied_without_the_locks_of_its_writers(self):
        for name in ("data/MANIFEST.json", "data/a", "data/.pipe/lock", "data/.pipe/lease/alive", "data/sub/.pipe/x",
                     ".pipe/mine/run.log"):
            (self.root / "all" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / "all" / name).write_bytes(b"1")
        for source, wanted in (("all/data", {"MANIFEST.json", "a", "sub/.pipe/x"}),
                               ("all", {"data/MANIFEST.json", "data/a", "data/sub/.pipe/x", ".pipe/mine/run.log"})):
            target = source.replace("/", "-") + "-copy"
            for place in (target, f"gs://{self.bucket}/{target}"):
                out = self.pipe("cp", "-r", source, place)[0]
                check(out.startswith(f"copied {len(wanted)} objects, ") and "left out" not in out, out)
            check(set(self.files(target)) == wanted and set(self.objects(target)) == wanted, self.files(target))

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
        self.buckets.put(self.bucket, "p/mark/", b"")  # the object that consoles show as an empty directory
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
        """A matching object that cannot be read under its name is an error, not a smaller corpus."""
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

    # --- requests to a bucket

    @scenario
    def many_objects_are_not_asked_for_one_by_one(self):
        for number in range(40):
            self.buckets.put(self.bucket, f"m/{number:02}", b"x" * number)
        before = self.buckets.counts()["operations"]
        self.buckets.fault("storage.objects.get", "return-404")  # a metadata request would see that it is gone
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
        for root in ("t", "u"):
            found = {name: items[f"{root}/{name}"]["contentType"] for name in types}
            check(found == types, f"{root}: {found}")

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
            self.freeze(process)
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
            self.freeze(process)  # a copy that shares blocks of the file system may have ended already
            self.overwrite(path, new)
            process.send_signal(signal.SIGCONT)
            out, err = process.communicate(timeout=60)
            check(process.returncode == 0, f"exit {process.returncode}: {out}{err}")
            check(target.read_bytes() in (old, new), "a mixture")

    @scenario
    def a_source_of_a_run_counts_by_its_bytes(self):
        """A file whose ctime alone differs is read again: a chmod or a link is no change, other bytes with the old time
        are."""
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

        def words_of(root):
            return {line.split()[0] for line in self.pipe("cat", f"{root}/tiny/1.0.0")[0].splitlines()}

        def begin(*words):
            """Starts a run and stops it with SIGSTOP in the middle of reading."""
            while True:
                process = self.start(*words)
                self.wait_for(process, "in the middle", lambda: list((self.root / words[3]).glob("artifacts/*/.*.part.tmp.*")))
                process.send_signal(signal.SIGSTOP)
                if not list((self.root / words[3]).rglob("*.part")):
                    return process
                process.kill()  # too late: it has read everything
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
        # The source changes between two runs.
        self.overwrite(source, text("six"))
        self.pipe(*words, "--force", "text")
        check(words_of("bytes") == {"six"}, "the old file was taken for the new one")

    # --- copies that are killed

    @scenario
    def a_killed_upload_goes_on(self):
        """After each kill the next copy sends only bytes that the bucket lacks; a changed source is sent from the
        start."""
        data = random.Random(3).randbytes(48 * MIB)
        (self.root / "big").write_bytes(data)
        target = f"gs://{self.bucket}/big"
        begun = self.operations("storage.objects.insert.start")

        def kill(sign, kib):
            before = self.operations(CHUNK)
            self.buckets.fault(CHUNK, f"stall-for-700ms-after-{kib}K")
            process = self.start("cp", "big", target)
            # A copy that continues first asks how far the session is.
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

    @scenario
    def a_killed_upload_from_the_web_goes_on(self):
        """The source is read from a point near the end of the session; a different source is read from its start."""
        data = random.Random(4).randbytes(64 * MIB)
        server = WebServer(data, "big")
        begun = self.operations("storage.objects.insert.start")

        def kill(sign, target, kib):
            before = self.operations(CHUNK)
            self.buckets.fault(CHUNK, f"stall-for-900ms-after-{kib}K")
            process = self.start("cp", f"{server.url}?{stores.SECRET}", target)
            self.wait_for(process, "in the middle", lambda: self.operations(CHUNK) > before)
            time.sleep(0.4)
            process.send_signal(sign)
            process.communicate(timeout=60)
            check(process.returncode != 0, "was not killed")

        def first_bytes(target):
            """First bytes of the transfers of an undisturbed copy."""
            server.requests.clear()
            check(self.pipe("cp", f"{server.url}?{stores.SECRET}", target)[0].startswith("copied 1 object, "), "no copy")
            return [first for method, first in server.requests if method == "GET"]

        there = f"gs://{self.bucket}/big"
        kill(signal.SIGKILL, there, 20_000)
        kill(signal.SIGTERM, there, 10_000)
        begins = first_bytes(there)
        # 30,000 KiB are in the session; the checksum of its first bytes was saved at most 8 MiB (and a read) earlier.
        check(begins and min(begins) > 20 * MIB, f"read from {begins}")
        check(self.buckets.get(self.bucket, "big") == data, "other bytes")
        starts = self.operations("storage.objects.insert.start") - begun
        check(starts == 1, f"{starts} sessions, where one would do")
        check(not list(self.base.glob("pipe-spool-*/.object*")), "the source was copied to this machine first")

        # Another version, and a weak ETag, which does not identify a version.
        there = f"gs://{self.bucket}/other"
        kill(signal.SIGKILL, there, 20_000)
        server.data, server.etag = data[::-1], '"2"'
        check(min(first_bytes(there)) == 0, "gone on with another version")
        check(self.buckets.get(self.bucket, "other") == data[::-1], "the front of one and the rest of another")
        server.etag = 'W/"2"'
        check(min(first_bytes(f"gs://{self.bucket}/weak")) == 0, "of a weak tag")
        check(self.buckets.get(self.bucket, "weak") == data[::-1], "of a weak tag")
        check(self.buckets.counts()["open_sessions"] == 0, "a session was left open")
        server.stop()

    # --- downloads that are killed

    def part_of(self, name):
        """The part file of that name and its journal; None if either is missing."""
        target = self.root / name
        found = list(target.parent.glob(f".{target.name}.tmp.part-*[0-9a-f]"))
        check(len(found) < 2, f"several parts: {found}")
        journal = found and Path(f"{found[0]}.json")
        return (found[0], json.loads(journal.read_text(encoding="utf-8"))) if found and journal.exists() else None

    def here(self, name):
        part = self.part_of(name)
        return part[1]["bytes"] if part else 0

    def parts(self):
        return [path for path in self.root.rglob(".*") if ".tmp." in path.name]

    def served_to(self, *words, **more):
        """The messages of an undisturbed copy, and the number of object bytes that it was sent."""
        before = self.buckets.counts()["read_bytes"]
        out, err = self.pipe(*words, **more)
        check(out.startswith("copied 1 object, "), out + err)
        return err, self.buckets.counts()["read_bytes"] - before

    def stop_download(self, sign, source, target, kib, least):
        """Ends a copy when `kib` KiB have arrived and, before SIGKILL, at least `least` bytes are safe; returns their
        number."""
        self.buckets.fault(READ, f"stall-for-2500ms-after-{kib}K")
        before = self.operations(READ)
        process = self.start("cp", source, target)
        self.wait_for(process, "in the middle", lambda: self.operations(READ) > before)
        if sign == signal.SIGKILL:
            self.wait_for(process, "safe", lambda: self.here(target) >= least)
        else:
            time.sleep(0.6)
        process.send_signal(sign)
        process.communicate(timeout=60)
        check(process.returncode != 0, "was not stopped")
        check(not (self.root / target).exists(), "half of it is shown")
        check(self.here(target) >= least, f"{self.here(target)} bytes are kept")
        return self.here(target)

    @scenario
    def a_killed_download_goes_on(self):
        block = random.Random(5).randbytes(4 * MIB)
        data = b"".join(block[number:] + block[:number] for number in range(28))  # 112 MiB
        self.buckets.put(self.bucket, "big", data)
        source = f"gs://{self.bucket}/big"
        kept = self.stop_download(signal.SIGKILL, source, "d/big", 80 << 10, 64 * MIB)
        # No command shows or copies a part file.
        check(self.pipe("ls", "-r", "d")[0] == "", "shown")
        check("holds nothing to copy" in self.pipe("cp", "-r", "d", "e", code=2)[1], "not told")
        check(not list((self.root / "e").rglob("*")), "copied")
        more = self.stop_download(signal.SIGTERM, source, "d/big", 16 << 10, kept + 8 * MIB)
        check((self.root / "d").stat().st_nlink >= 2 and len(self.parts()) == 2, f"left: {self.parts()}")
        err, served = self.served_to("cp", source, "d/big")
        check(served == len(data) - more + COMPARED, f"{served} bytes were sent again, {more} were here")
        check("goes on behind them" in err, err)
        check((self.root / "d/big").read_bytes() == data and not self.parts(), f"left: {self.parts()}")
        check((self.root / "d/big").stat().st_nlink == 1, "the part is still there under another name")

    @scenario
    def what_is_kept_of_another_version_or_damaged_is_not_published(self):
        data = random.Random(6).randbytes(4 * MIB) * 8
        source = f"gs://{self.bucket}/big"
        for name in ("replaced", "flipped", "cut", "journal", "stored"):
            self.buckets.put(self.bucket, "big", data)
            kept = self.stop_download(signal.SIGTERM, source, name, 20 << 10, 16 * MIB)
            part = self.part_of(name)[0]
            now, more = data, len(data)
            if name == "replaced":
                now = data[::-1]
                self.buckets.put(self.bucket, "big", now)
            elif name == "flipped":
                with part.open("r+b") as file:
                    file.seek(3 * MIB)
                    file.write(bytes([data[3 * MIB] ^ 1]))
            elif name == "cut":
                os.truncate(part, MIB)
            elif name == "journal":
                Path(f"{part}.json").write_text("{", encoding="utf-8")
            else:
                # Wrong bytes, and a journal that confirms them: the bytes that are fetched again and compared detect them.
                journal = self.part_of(name)[1]
                part.write_bytes(bytes(4 * MIB))
                journal.update(bytes=4 * MIB, crc32c=crc32c_of_zeros(4 * MIB))
                Path(f"{part}.json").write_text(json.dumps(journal), encoding="utf-8")
            served = self.served_to("cp", source, name)[1]
            check((self.root / name).read_bytes() == now, f"{name}: other bytes")
            # A transfer that is given up has sent some bytes more.
            good = more <= served < more + len(data) - 4 * MIB if name == "stored" else served == more
            check(good, f"{name}: {served} bytes were sent, expected {more}; {kept} were kept")
            check(not self.parts(), f"{name}: left {self.parts()}")

    @scenario
    def a_killed_download_from_the_web_goes_on(self):
        data = random.Random(7).randbytes(40 * MIB)
        server = WebServer(data, "big")

        def stop(sign, name, tag):
            server.etag = tag
            server.here(24 * MIB)
            process = self.start("cp", f"{server.url}?{stores.SECRET}", name)
            self.wait_for(process, "in the middle", server.is_waiting)
            if sign == signal.SIGKILL:
                time.sleep(2.1)  # received bytes are made safe every two seconds
                server.here(26 * MIB)
                self.wait_for(process, "safe", lambda: self.here(name) > 0)
            process.send_signal(sign)
            process.communicate(timeout=60)
            check(process.returncode != 0 and not (self.root / name).exists(), "was not stopped")
            server.break_off()
            server.here(len(data))
            server.requests.clear()
            return self.here(name)

        def begins(name):
            check(self.pipe("cp", f"{server.url}?{stores.SECRET}", name)[0].startswith("copied 1 object, "), "no copy")
            check((self.root / name).read_bytes() == server.data and not self.parts(), f"left: {self.parts()}")
            return [first for method, first in server.requests if method == "GET"]

        kept = stop(signal.SIGKILL, "killed", '"1"')
        check(kept >= 24 * MIB and begins("killed") == [kept - COMPARED], f"{server.requests}, and {kept} bytes were kept")
        check(stop(signal.SIGTERM, "changed", '"1"') > 0, "nothing is kept")
        server.data, server.etag = data[::-1], '"2"'
        check(begins("changed") == [0], f"{server.requests}")
        check(stop(signal.SIGTERM, "weak", 'W/"2"') == 0, "kept, although the next one may be another version")
        check(begins("weak") == [0], f"{server.requests}")
        server.stop()

    @scenario
    def what_nobody_goes_on_with_is_removed(self):
        data = random.Random(8).randbytes(4 * MIB) * 6
        self.buckets.put(self.bucket, "big", data)
        (self.root / "small").write_bytes(b"x")
        source = f"gs://{self.bucket}/big"
        # Another object is copied to that name.
        self.stop_download(signal.SIGTERM, source, "d/a", 18 << 10, 16 * MIB)
        self.pipe("cp", "small", "d/a")
        check(not self.parts(), f"left: {self.parts()}")
        # A part file is removed after six days.
        self.stop_download(signal.SIGTERM, source, "d/b", 18 << 10, 16 * MIB)
        for days in (5, 7):
            for path in self.parts():
                os.utime(path, (time.time() - days * 86_400,) * 2)
            self.pipe("cp", "small", f"d/c{days}")
            check(len(self.parts()) == (2 if days == 5 else 0), f"after {days} days: {self.parts()}")
        # A journal without its part file.
        self.stop_download(signal.SIGTERM, source, "d/e", 18 << 10, 16 * MIB)
        part = self.part_of("d/e")[0]
        part.unlink()
        os.utime(f"{part}.json", (0, 0))
        self.pipe("cp", "small", "d/c")
        check(not self.parts(), f"left: {self.parts()}")

    @scenario
    def two_downloads_to_one_location_do_not_mix(self):
        data = random.Random(9).randbytes(4 * MIB) * 8
        self.buckets.put(self.bucket, "big", data)
        self.buckets.put(self.bucket, "other", data[::-1])
        for other in ("big", "other"):
            self.buckets.fault(READ, f"stall-for-1500ms-after-{20 << 10}K")
            before = self.operations(READ)
            first = self.start("cp", f"gs://{self.bucket}/big", f"at-{other}")
            self.wait_for(first, "in the middle", lambda: self.operations(READ) > before)
            time.sleep(0.3)
            self.pipe("cp", f"gs://{self.bucket}/{other}", f"at-{other}")
            out, err = first.communicate(timeout=60)
            check(first.returncode == (0 if other == "big" else 1), f"{first.returncode}: {out}{err}")
            check((self.root / f"at-{other}").read_bytes() == self.buckets.get(self.bucket, other), "a mixture")
            check(other == "other" or out.endswith("1 object was there already\n"), out)
        self.pipe("cp", "--force", f"gs://{self.bucket}/big", "at-other")
        check((self.root / "at-other").read_bytes() == data and not self.parts(), f"left: {self.parts()}")


def crc32c_of_zeros(count):
    """CRC-32C of `count` zero bytes."""
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 & -(value & 1))
        table.append(value)
    value = 0xFFFFFFFF
    for _ in range(count):
        value = table[value & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def main():
    pipe, fake = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as root, FakeBuckets(fake, Path(root) / "buckets") as buckets:
        scenarios = Scenarios(pipe, buckets, Path(root))
        play(scenarios, sys.argv[3:], scenarios.begin)


if __name__ == "__main__":
    main()
