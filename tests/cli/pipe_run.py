"""For scripts that test the program from outside: a corpus with every kind of dirt, its possible containers, and the
directory of one run with its files."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import re
import subprocess
import sys
import tarfile
import time
import zipfile

PLAIN = [chr(code) for code in (*range(0x3041, 0x3094), *range(0x30a1, 0x30f7), *range(0x4e00, 0x5200))]
DIRT = ("\u3000字下げ", "ﾊﾝｶｸｶﾞﾅ", "ｶﾞｷﾞｸﾞ", "①Ⅳ㌔㍻", "ｆｕｌｌ　ｗｉｄｔｈ", "か\u3099は\u309a", "e\u0301\u0327", "👩\u200d🚀",
        "葛\U000e0100", "\u1112\u1161\u11ab", "改\u2028行", "零\u200b幅", "途中の\ufeffBOM", "ﬁ", "   ", "\t")
BROKEN = (b"\xff", b"\xed\xa0\x80\xed\xb0\x80", b"\xe3\x81", b"\xc0\x80", b"\x00", b"\r")

# Names of temporaries in a local store: storage/local_names.h.
TEMPORARY = re.compile(r"\..+\.tmp\.[0-9a-f]{8}-[0-9]+-[0-9]+")


def corpus(seed, size):
    """At least `size` bytes; the same bytes for the same seed on every machine."""
    chance = random.Random(seed)
    out = [b"\xef\xbb\xbf"]
    made = 0
    while made < size:
        for _ in range(chance.randrange(1, 13)):
            length = chance.randrange(60)
            if chance.random() < 0.002:
                length = chance.randrange(8_000, 60_000)
            line = "".join(chance.choices(PLAIN, k=length))
            if chance.random() < 0.2:
                line += chance.choice(DIRT) + "あと"
            raw = line.encode()
            if chance.random() < 0.02:
                broken = chance.choice(BROKEN)
                raw += (b"" if len(out) % 5 < 3 else broken) + "壊れ".encode()  # fewer than `invalid_lines`
            out.append(raw + (b"\r\n" if chance.random() < 0.1 else b"\n"))
            made += len(out[-1])
        out.append(b"\n" * chance.randrange(1, 4))
    return b"".join(out)


def tool(data, *command):
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=60).stdout


def halves(data, pack):
    """Two containers, one after the other; the border may be anywhere in a line."""
    return pack(data[: len(data) // 2]) + pack(data[len(data) // 2:])


def tar(data):
    """A tar with a directory and with the text as its only member."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        directory, member = tarfile.TarInfo("text"), tarfile.TarInfo("text/corpus.txt")
        directory.type, member.size = tarfile.DIRTYPE, len(data)
        archive.addfile(directory)
        archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


def zipped(data):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text/", "")
        archive.writestr("text/corpus.txt", data)
    return made.getvalue()


CONTAINERS = {
    "xz, one block": (".xz", lzma.compress),
    "xz, blocks of 100 KiB": (".xz", lambda data: tool(data, "xz", "-c", "-T1", "--block-size=100KiB")),
    "xz, quick blocks": (".xz", lambda data: tool(data, "xz", "-c", "-0", "-T1", "--block-size=2MiB")),
    "xz, two streams": (".xz", lambda data: halves(data, lzma.compress)),
    "gzip": (".gz", lambda data: gzip.compress(data, mtime=0)),
    "bzip2": (".bz2", lambda data: halves(data, bz2.compress)),
    "lz4": (".lz4", lambda data: halves(data, lambda half: tool(half, "lz4", "-c"))),
    "tar": (".tar", tar),
    "tar, xz of blocks": (".tar.xz", lambda data: tool(tar(data), "xz", "-c", "-T1", "--block-size=100KiB")),
    "tar, gzip": (".tgz", lambda data: gzip.compress(tar(data), mtime=0)),
    "zip": (".zip", zipped),
    "gzip, two members": (".gz", lambda data: halves(data, lambda half: gzip.compress(half, mtime=0))),
    "zstd": (".zst", lambda data: tool(data, "zstd", "-c", "-q")),
    "zstd, two frames": (".zst", lambda data: halves(data, lambda half: tool(half, "zstd", "-c", "-q"))),
    "plain": (".txt", bytes),
}


def write_corpora(directory, texts, container):
    """Writes one file per text; returns the paths."""
    suffix, pack = CONTAINERS[container]
    directory.mkdir(parents=True)
    paths = [directory / f"corpus-{number}{suffix}" for number in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_bytes(pack(text))
    return paths


def text_line(name, shards):
    """A pipeline from one file to a TFDS data set, with enough stages to show that bytes stay the same."""
    return f"""\
pipe: 1
name: {name}
vars: {{ out: "", corpus: "" }}
stages:
  source: {{ type: download, url: "${{corpus}}" }}
  lines: {{ type: decompress, input: source, partition: 64KiB }}
  clean: {{ type: normalize, input: lines, form: nfkc }}
  docs: {{ type: split, input: clean, splits: {{ train: rest, validation: 0.1 }} }}
  text: {{ type: write_tfds, input: docs, name: {name}, version: 1.0.0, shards: {shards}, out: "${{out}}" }}
"""


class Log:
    """The complete lines of a run log."""

    def __init__(self, path):
        data = path.read_bytes() if path.exists() else b""
        self.lines = []
        for line in data[: data.rfind(b"\n") + 1].decode(errors="replace").splitlines():
            kind, *fields = line.split("\t")
            self.lines.append((kind, dict(field.partition("=")[::2] for field in fields)))

    def done(self, pattern=""):
        """Number of `done` lines whose unit matches the pattern from its beginning."""
        return sum(kind == "done" and bool(re.match(pattern, fields.get("unit", ""))) for kind, fields in self.lines)

    def ended(self, pattern=""):
        """Number of inputs that were read to their end."""
        return sum(kind == "end" and bool(re.match(pattern, fields.get("unit", ""))) for kind, fields in self.lines)

    def last_run(self):
        """Fields of the last `run` line; no outcome while it runs, or if it was killed."""
        runs = [fields for kind, fields in self.lines if kind == "run"]
        return runs[-1] if runs else {}


class Run:
    """A pipeline file with its work and out directories below `root`; may be started several times."""

    def __init__(self, program, root, pipeline):
        self.program, self.root = program, root
        self.work, self.out = root / "work", root / "out"
        self.pid = 0  # of the last start
        root.mkdir(parents=True)
        self.file = root / "pipeline.yaml"
        self.file.write_text(pipeline, encoding="utf-8")

    def start(self, *options, kill_at=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
        environment["PIPE_TEST_REASONS"] = "1"  # a stage fails if it counts a reason that it does not declare
        environment["PIPE_LEASE"] = "0.5"  # otherwise a test waits a minute to see whether a killed run lives
        if kill_at:
            environment["PIPE_KILL_AT"] = kill_at
        with open(self.root / "messages", "ab") as messages:
            process = subprocess.Popen([self.program, "run", str(self.file), "--work", str(self.work), "--set",
                                        f"out={self.out}", *options], env=environment, stdin=subprocess.DEVNULL,
                                       stdout=messages, stderr=messages)
        self.pid = process.pid
        return process

    def show(self, command, *words):
        """What a command about this run prints."""
        done = subprocess.run([self.program, command, str(self.file), "--work", str(self.work), "--set",
                               f"out={self.out}", *words], capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    def finish(self, *options, kill_at=None, patience=100):
        """Runs it; returns the exit code, -9 after a kill."""
        return self.start(*options, kill_at=kill_at).wait(timeout=patience)

    def stop_when(self, condition, signal, *options):
        """Sends `signal` once this start is in the log and the condition holds. Returns the exit code; 0: it ended
        before."""
        process, until = self.start(*options), time.monotonic() + 100
        while process.poll() is None:
            if time.monotonic() > until:
                process.kill()
                fail("waited for what never came", self)
            if self.log().last_run().get("pid") == str(process.pid) and condition():
                process.send_signal(signal)
                return process.wait(timeout=100)
            time.sleep(0.001)
        return process.returncode

    def outcome(self):
        """Outcome of the last start in the log; None if it was killed or did not begin."""
        last = self.log().last_run()
        return last.get("outcome") if last.get("pid") == str(self.pid) else None

    def was_killed_at_work(self):
        log = self.log()
        last = log.last_run()
        return log.done() > 0 and last.get("pid") == str(self.pid) and "outcome" not in last

    def verify(self, artifact):
        """Exit code of `pipe verify`."""
        with open(self.root / "messages", "ab") as messages:
            return subprocess.run([self.program, "verify", str(artifact)], stdin=subprocess.DEVNULL, stdout=messages,
                                  stderr=messages, timeout=100, check=False).returncode

    def clean(self, *options):
        """Exit code of `pipe clean`."""
        with open(self.root / "messages", "ab") as messages:
            return subprocess.run([self.program, "clean", str(self.file), "--work", str(self.work), "--set",
                                   f"out={self.out}", *options], stdin=subprocess.DEVNULL, stdout=messages,
                                  stderr=messages, timeout=100, check=False).returncode

    def log(self):
        return Log(self.work / "run.log")

    def messages(self):
        return (self.root / "messages").read_text(encoding="utf-8", errors="replace")

    def published(self, lineage=True):
        """{object: digest} of all visible files in `out`; without `lineage`, manifests are compared without their
        sources."""
        found = {}
        for path in sorted(self.out.rglob("*")):
            name = path.relative_to(self.out)
            if not path.is_file() or ".pipe" in name.parts or TEMPORARY.fullmatch(path.name):
                continue
            data = path.read_bytes()
            if path.name == "MANIFEST.json" and not lineage:
                manifest = json.loads(data)
                del manifest["lineage"], manifest["recipe"], manifest["seal"]
                for counts in manifest["counts"].values():  # the number of members depends on the container
                    for reason in ("members", "members_not_files"):
                        counts.get("reasons", {}).pop(reason, None)
                data = json.dumps(manifest).encode()
            found[str(name)] = hashlib.sha256(data).hexdigest()
        return found


def differences(wanted, found):
    """Differences as lines for people; empty: none."""
    return [f"{name}: {'missing' if name not in found else 'not wanted' if name not in wanted else 'other bytes'}"
            for name in sorted({*wanted, *found}) if wanted.get(name) != found.get(name)]


def hold(condition, run, what):
    if not condition:
        fail(what, run)


def fail(message, run=None):
    print(f"FAILED: {message}")
    if run:
        print(f"--- the last messages of {run.file}\n{run.messages()[-4000:]}")
    sys.exit(1)
