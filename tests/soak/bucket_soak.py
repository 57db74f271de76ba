#!/usr/bin/env python3
"""Objects of all sizes go into a bucket and back while everything in between breaks, by a seed.

    bucket_soak.py STORE_COPY FAKE_GCS [--seed N] [--objects N] [--kills N] [--minutes M]

A round: a fake bucket with a random plan of faults, and the scenarios A to S once each for certain; the program
store_copy, killed with SIGKILL at moments that the fake tells (a request, a part of a body, an answer that was not sent)
and started again with the same words. At the end every object has the CRC-32C of its source, was made once and is not
accompanied, spool and file of sessions are empty, and everything that was read back is what was written.
--minutes: rounds with the next seeds until the time is over. Needs google_crc32c, which is not ours.
"""

import argparse
import base64
import collections
import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import google_crc32c

KIB, MIB = 1 << 10, 1 << 20
RATE = 0.1
LIMIT_S = 120  # for one start of the program
SCENARIOS = {
    "A": "upload broken off, kept in part", "B": "308 without Range", "C": "5xx, also after the object was made",
    "D": "upload session gone", "E": "401 in the middle", "F": "429 with Retry-After", "G": "damaged upload refused",
    "H": "another writer was first", "I": "pages of few, empty page", "J": "download broken off, damaged, not as asked",
    "K": "stored as gzip", "L": "stall", "M": "replaced while it was read", "N": "answer to a removal lost",
    "O": "one object written too often", "P": "rewrite of several calls", "Q": "session at 0.0.0.0",
    "R": "requester pays", "S": "metadata server slow, without account, without flavor, short token",
}
# Each happens once for certain: the objects of the part `sure` are large enough for all of them.
SURE_UPLOADS = {
    "storage.objects.insert.whole": ["return-reset-connection-after-40K", "return-429-retry-after-1", "return-corrupted-data",
                                     "race", "return-401", "return-503-after-commit"],
    "storage.objects.insert.start": ["redirect-session", "return-503"],
    "storage.objects.insert.chunk": ["return-503-after-700K", "expire-session-410", "stall-for-3s-after-300K",
                                     "return-corrupted-data", "race", "return-0-after-commit"],
    "storage.objects.insert.query": ["return-308-without-range"],
    "storage.objects.list": ["pages-of-3", "empty-page"],
    "storage.objects.delete": ["return-503-after-commit", "return-0-after-commit"],
}
SURE_DOWNLOADS = {
    "storage.objects.read": ["return-broken-stream-after-64K", "return-whole-object", "return-reset-connection-after-700K",
                             "return-wrong-etag", "return-corrupted-data", "stall-for-3s-after-16K"],
}
OVERWRITES = {"storage.objects.read": ["overwrite-after-64K"] * 2}
# Expected ends without a kill, after which the program is started again.
EXPECTED = {
    "metadata server": re.compile(r"has no service account|is no metadata server"),
    "replaced meanwhile": re.compile(r"was replaced or removed while it was (read|copied)"),
}


class SoakError(Exception):
    """A promise is broken."""


def hold(condition, what):
    if not condition:
        raise SoakError(what)


class Fake:
    """The program fake_gcs; ends with its scope."""

    def __init__(self, program, directory, seed):
        command = [program, "--directory", directory, "--no-md5", "--bucket", "shelf", "--bucket", "notes",
                   "--shared-bucket", "theirs", "--payer-bucket", "payer", "--limit-writes", "--rewrite-bytes", 100 * KIB,
                   "--tokens", "--seed", seed, "--rate", RATE]
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        said = json.loads(self.process.stdout.readline())
        self.url, self.metadata = said["url"], said["metadata"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)

    def ask(self, path, body=None):
        request = urllib.request.Request(f"{self.url}/fake/{path}", data=body, method="GET" if body is None else "POST")
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return json.loads(answer.read())

    def strike(self, faults):
        self.ask("faults", json.dumps(faults).encode())

    def put(self, bucket, name, data, encoding=""):
        self.ask("objects?" + urllib.parse.urlencode({"bucket": bucket, "name": name, "encoding": encoding}), data)


def crc_text(data):
    return base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()


def sizes(chance, count):
    """Sizes around every border, up to several parts; most are small."""
    quantum = 256 * KIB
    chosen = [0, 1, 2, 4095, 4096, quantum - 1, quantum, quantum + 1, 2 * quantum, 3 * quantum + 1,
              8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 17 * MIB + 1, 19 * MIB]
    chosen += [8 * MIB + chance.randrange(2 * MIB) for _ in range(count // 50)]
    return chosen + [int(2 ** (chance.random() * 18.5)) for _ in range(count - len(chosen))]


class Round:
    """One bucket and its tests."""

    def __init__(self, copy, fake, root, seed, objects, kills):
        self.copy, self.fake, self.root, self.kills_wanted = copy, fake, root, kills
        self.chance = random.Random(seed)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("GOOGLE_", "CLOUDSDK_", "STORAGE_", "GCE_")) and "proxy" not in name.lower()}
        self.environment |= {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": fake.url, "GCE_METADATA_HOST": fake.metadata,
                             "CLOUDSDK_CONFIG": str(root / "gcloud"), "HOME": str(root)}
        self.starts, self.ended = 0, collections.Counter()
        self.kills = collections.Counter()
        self.source = root / "source"
        self.make_source(objects)

    def make_source(self, objects):
        pool = self.chance.randbytes(24 * MIB)
        self.wanted = {}
        sure = {"sure/small": 300 * KIB, "sure/less": 280 * KIB, "sure/large": 9 * MIB, "sure/more": 10 * MIB + 5,
                "sure/parts": 18 * MIB}
        sizes_of = list(sure.items())
        sizes_of += [(f"part-{number % 7}/オブジェクト {number:03}", size)
                     for number, size in enumerate(sizes(self.chance, objects - len(sure)))]
        for name, size in sizes_of:
            begin = self.chance.randrange(len(pool) - size + 1)
            data = pool[begin:begin + size]
            self.write(self.source / name, data)
            self.wanted[name] = (size, crc_text(data))
        self.theirs = {}
        for number in range(12):
            data = pool[number:number + self.chance.randrange(200 * KIB, 900 * KIB)]
            encoding = "gzip" if number % 2 == 0 else ""
            if encoding:
                data = gzip.compress(data, compresslevel=1, mtime=0)
            self.theirs[f"their {number}"] = data
            self.fake.put("theirs", f"their {number}", data, encoding)

    @staticmethod
    def write(path, data):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    # ------------------------------------------------------------------------------- the program

    def command(self, source, target, *options):
        words = [self.copy, "--impatient", "--pieces", "--jobs", 4, "--compose-above", 16 * MIB, "--part-bytes", 9 * MIB,
                 *options, source, target, self.root / "spool"]
        return [str(word) for word in words]

    def start(self, command, kill_after=None):
        """Starts the program once; returns its exit code and its output. The fake stops while it is killed."""
        self.starts += 1
        answered, held = threading.Event(), []

        def wait_for_the_moment():
            try:
                held.append(self.fake.ask(f"hold?after={kill_after}")["held"])
            finally:
                answered.set()

        waiter = threading.Thread(target=wait_for_the_moment)
        if kill_after is not None:
            waiter.start()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment) as child:
            def end():
                answered.wait()
                if held and held[0]:
                    child.kill()

            killer = threading.Thread(target=end)
            if kill_after is not None:
                killer.start()
            try:
                said = "".join(child.communicate(timeout=LIMIT_S))
            except subprocess.TimeoutExpired:
                child.kill()
                raise SoakError(f"{command}: still runs after {LIMIT_S} s") from None
            finally:
                while kill_after is not None and not (answered.is_set() and not killer.is_alive()):
                    self.fake.ask("release", b"")
                    answered.wait(0.02)
                    if answered.is_set():
                        killer.join()
                if kill_after is not None:
                    self.fake.ask("release", b"")
                    waiter.join()
        return child.returncode, said

    def through(self, what, command, kills=0, moments=1):
        """Starts the command until it is done; kills it `kills` times, each after up to `moments` moments."""
        while True:
            kill_after = self.chance.randint(1, moments) if kills > 0 else None
            code, said = self.start(command, kill_after)
            if code == 0:
                return said
            if code == -signal.SIGKILL:
                hold(kills > 0, f"{what}: was killed by somebody else")
                kills -= 1
                self.kills[what] += 1
                continue
            reason = next((name for name, text in EXPECTED.items() if text.search(said)), None)
            hold(reason is not None, f"{what}: exit code {code}: {said}")
            self.ended[reason] += 1
            hold(self.starts < 1000, f"{what}: does not end; at last: {said}")

    # ------------------------------------------------------------------------------------ phases

    def run(self):
        share = self.kills_wanted / 50
        sure = self.command(self.source / "sure", "gs://shelf/out/sure", "--jobs", 1)
        self.fake.strike(SURE_UPLOADS)
        self.through("upload", sure)
        self.fake.strike(SURE_DOWNLOADS)
        self.through("download", self.command("gs://shelf/out/sure", self.root / "sure", "--jobs", 1))
        put = self.command(self.source, "gs://shelf/out")
        self.through("upload", put, round(26 * share), 150)
        self.get("back", round(10 * share), 500)
        self.fake.strike(OVERWRITES)
        for name, kills in (("theirs", 0), ("theirs-too", round(4 * share))):
            self.through(name, self.command("gs://theirs", self.root / name, "--replace"), kills, 60)
        self.through("copies", self.command("gs://theirs", "gs://shelf/copies"), round(4 * share), 60)
        self.notes()
        self.payer()
        extra = 0
        while self.kills.total() < self.kills_wanted:  # the program was too quick for some
            extra += 1
            self.get(f"again-{extra}", self.kills_wanted - self.kills.total(), 200)
        # Requests of a killed program may be answered after the next start; the last start finds their parts.
        said = self.through("upload", put)
        hold(f"{len(self.wanted)} objects, 0 copied" in said, f"not all was there at the end: {said}")
        return self.check()

    def get(self, name, kills, moments):
        self.through("download", self.command("gs://shelf/out", self.root / name), kills, moments)
        self.compare_files(name, lambda found, data: data == (self.source / found).read_bytes(), self.wanted)

    def notes(self):
        for version in (b"one", b"two", b"three"):
            self.write(self.root / "note/progress", version)
            self.through("notes", self.command(self.root / "note", "gs://notes", "--replace"))
        hold(self.fake.ask("objects?bucket=notes")["progress"]["crc32c"] == crc_text(b"three"), "the last write is not there")

    def payer(self):
        command = self.command(self.root / "note", "gs://payer/out")
        refused = "has no service account"
        while EXPECTED["metadata server"].search(refused):
            code, refused = self.start(command)
        hold(code == 1 and "user project" in refused, f"a bucket whose reader pays: exit code {code}: {refused}")
        self.through("payer", [*command[:-3], "--user-project", "who-pays", *command[-3:]])

    # ------------------------------------------------------------------------------------ checks

    def compare_files(self, name, good, names):
        root = self.root / name
        found = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
        hold(found.keys() == set(names), f"{name}: other files: {sorted(found.keys() ^ set(names))[:5]}")
        for relative, path in found.items():
            hold(good(relative, path.read_bytes()), f"{name}/{relative}: other bytes")

    def check(self):
        counts = self.fake.ask("counts")
        there = self.fake.ask("objects?bucket=shelf")
        theirs = self.fake.ask("objects?bucket=theirs")
        wanted = {f"out/{name}": size_and_crc for name, size_and_crc in self.wanted.items()}
        wanted |= {f"copies/{name}": (found["size"], found["crc32c"]) for name, found in theirs.items()}
        hold(there.keys() == wanted.keys(), f"extra or missing in the bucket: {sorted(there.keys() ^ wanted.keys())[:5]}")
        for name, found in there.items():
            hold((found["size"], found["crc32c"]) == wanted[name], f"{name}: {found} is not its source {wanted[name]}")
            hold(found["made"] == 1, f"{name}: was made {found['made']} times")
        shelf = counts["buckets"]["shelf"]
        hold(shelf["overwritten"] == 0 and shelf["most_made"] == 1, f"an object was overwritten or made again: {shelf}")
        # Whole, one of the two versions: a mixture would be neither.
        for root in ("theirs", "theirs-too"):
            self.compare_files(root, lambda name, data: data in (self.theirs[name], self.theirs[name][::-1]), self.theirs)
        spool = self.root / "spool"
        left = [str(path.relative_to(spool)) for path in spool.rglob("*") if path.is_file() and path.name != "sessions"]
        hold(not left, f"left in the spool: {left}")
        hold((spool / "sessions").read_bytes() == b"", "the file of sessions is not empty")
        hold(self.kills.total() == self.kills_wanted, f"{self.kills.total()} kills in place of {self.kills_wanted}")
        missing = [letter for letter in SCENARIOS if counts["scenarios"].get(letter, 0) == 0]
        hold(not missing, f"scenarios that did not take place: {missing}")
        return counts


class Sums:
    """Sums over all rounds."""

    def __init__(self):
        self.rounds, self.objects, self.bytes, self.starts, self.requests = 0, 0, 0, 0, 0
        self.kills, self.ended, self.scenarios = (collections.Counter() for _ in range(3))

    def add(self, played, counts):
        self.rounds += 1
        self.objects += len(played.wanted)
        self.bytes += sum(size for size, _ in played.wanted.values())
        self.starts += played.starts
        self.requests += counts["requests"]
        self.kills += played.kills
        self.ended += played.ended
        self.scenarios += collections.Counter(counts["scenarios"])

    def show(self, seconds):
        listed = ", ".join(f"{number} in {what}" for what, number in sorted(self.kills.items()))
        ended = ", ".join(f"{number} by {what}" for what, number in sorted(self.ended.items()))
        print(f"\n{self.rounds} rounds, {self.objects} objects of {self.bytes / 1e6:.0f} MB in all, {seconds:.0f} s")
        print(f"{self.kills.total()} SIGKILLs ({listed}); {self.starts} starts, of which ended {ended or 'none by itself'}")
        print(f"{self.requests} requests, {sum(self.scenarios.values())} faults:")
        for letter, what in SCENARIOS.items():
            print(f"  {letter} {self.scenarios[letter]:6}  {what}")
        print(f"  - {self.scenarios['-']:6}  others (5xx and reset connections elsewhere)")
        print("every object once, with the CRC-32C of its source; nothing else; sessions and spool empty")


def play(args, seed):
    with tempfile.TemporaryDirectory(prefix="bucket-soak-") as root, Fake(args.fake, Path(root) / "bucket", seed) as fake:
        played = Round(args.copy, fake, Path(root), seed, args.objects, args.kills)
        return played, played.run()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("copy", type=Path)
    parser.add_argument("fake", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--objects", type=int, default=500)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=0)
    args = parser.parse_args()
    begin, sums, seed = time.monotonic(), Sums(), args.seed
    while True:
        started = time.monotonic()
        try:
            played, counts = play(args, seed)
        except SoakError as error:
            sys.exit(f"bucket_soak: seed {seed}: {error}")
        sums.add(played, counts)
        print(f"seed {seed}: {len(played.wanted)} objects, {played.kills.total()} kills, {played.starts} starts, "
              f"{counts['requests']} requests, {sum(counts['scenarios'].values())} faults, "
              f"{counts['open_sessions']} sessions left open, {time.monotonic() - started:.0f} s", flush=True)
        seed += 1
        if time.monotonic() - begin >= args.minutes * 60:
            break
    sums.show(time.monotonic() - begin)


if __name__ == "__main__":
    main()
