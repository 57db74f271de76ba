#!/usr/bin/env python3
"""A run that an earlier version left unfinished is continued by this one, and everything that it wrote can be read.

    released_work.py PIPE                       continues the work of each tests/golden/NAME/work.tar.xz
    released_work.py PIPE make NAME             makes tests/golden/NAME/work.tar.xz by the program of a release

The archive has a pipeline file with relative paths, its corpora, the work directory and the published artifacts.
`make` leaves it as kills leave it: a download that is half here, a stopped, a finished and a killed run, artifacts of
each format that are published, a shard that is half written, and stages that have not begun. If a stage has another
version now, or a library on this machine has, its work does not count any more, nor does that of its readers: the test
removes their artifacts, as a person does who does not name another `out`, and holds the rest.
"""

import hashlib
import io
import json
import lzma
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from pipe_run import TEMPORARY, Log
from replan_support import tree
from scenarios import check, play, scenario
from web_server import WebServer

GOLDEN = Path(__file__).parents[1] / "golden"
FILE = """\
pipe: 1
name: released
vars: {{ web: far.txt }}
stages:
  source: {{ type: download, url: corpus.txt.xz }}
  lines: {{ type: decompress, input: source, partition: 2KiB, max_record_bytes: 4KiB, invalid_utf8: quarantine }}
  clean: {{ type: normalize, input: lines, form: nfkc }}
  good: {{ type: filter, input: clean, max_run: 40 }}
  docs: {{ type: split, input: good, splits: {{ train: rest, validation: 0.25 }} }}
  pick: {{ type: sample, input: docs, split: train, bytes: 6KB, partition: 4KiB }}
  tokenizer: {{ type: train_tokenizer, input: pick, vocab_size: 310, max_piece_length: 4, out: out/tokenizer }}
  tokens: {{ type: encode, input: docs, tokenizer: tokenizer }}
  rows: {{ type: write_jsonl, input: docs, unit: document, shards: 2, out: out/rows }}
  text: {{ type: write_tfds, input: docs, name: near, version: 1.0.0, shards: 2, out: out }}
  data: {{ type: write_tfdata, input: tokens, name: near, shards: 2, out: out/data }}
  pieces: {{ type: train_tokenizer, input: pick, model: wordpiece, layout: bert, vocab_size: 120, out: out/pieces }}
  bert_ids: {{ type: encode, input: docs, tokenizer: pieces }}
  bert: {{ type: write_bert, input: bert_ids, seq_len: 64, max_predictions: 10, dupe_factor: 1, shards: 2,
           out: out/bert }}
  packed: {{ type: write_packed, input: tokens, seq_len: 64, shards: 3, out: out/packed }}
  far: {{ type: download, url: "${{web}}", checksum: "{checksum}" }}
  far_lines: {{ type: decompress, input: far, partition: 4KiB }}
  far_docs: {{ type: split, input: far_lines, splits: {{ train: rest, validation: 0.25 }} }}
  mixed: {{ type: mix, corpora: [docs, far_docs], weights: [2, 1], epochs: [1, 2], partition: 8KiB }}
  ids: {{ type: encode, input: mixed, tokenizer: tokenizer }}
  joined: {{ type: write_packed, input: ids, seq_len: 64, encoding: raw16, shards: 2, out: out/joined }}
"""
# {stage: its artifact below out/} of what is published when the work stops, and of what the next run publishes.
PUBLISHED = {"tokenizer": "tokenizer", "rows": "rows", "text": "near/1.0.0", "data": "data", "pieces": "pieces",
             "bert": "bert"}
# An artifact of another version of a library is reused as it is, and so is everything that was made with it.
REUSED = {"tokenizer": "tokenizer"}
UNFINISHED = {"packed": "packed", "joined": "joined"}
HALF = 16384  # bytes of the second corpus that are here
WHO = "the dog,a cat,my aunt,the old captain,every child,nobody,the baker,a tall stranger".split(",")
DEEDS = "saw,carried,painted,lost,remembered,sold,found,hid".split(",")
THINGS = "a letter,the red chair,seven apples,an open book,the map,a broken clock,some bread".split(",")
PLACES = "in the garden,near the river,at the station,under the bridge,behind the school,in Tokyo".split(",")


def sentences(seed, size):
    """English text of few words, with lines that `lines` and `good` put aside and lines that `clean` changes."""
    chance, out, made = random.Random(seed), [], 0
    while made < size:
        line = " ".join(map(chance.choice, (WHO, DEEDS, THINGS, PLACES))) + "."
        if chance.random() < 0.1:
            line += " ①②ﬁ"
        if chance.random() < 0.04:
            line = "~" * 50
        raw = line.encode() + (b" \xff" if chance.random() < 0.03 else b"")
        out.append(raw + (b"\n\n" if chance.random() < 0.2 else b"\n"))
        made += len(out[-1])
    return b"".join(out)


class Sandbox:
    """The directory of a pipeline; every command runs there, so that no absolute path gets into what it writes."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
        self.environment["PIPE_LEASE"] = "0.5"  # otherwise the next run waits a minute for a run that was killed

    def start(self, *words, kill_at=None):
        environment = self.environment | ({"PIPE_KILL_AT": kill_at} if kill_at else {})
        return subprocess.Popen([self.program, *words], cwd=self.root, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def call(self, *words, wanted=0, kill_at=None):
        """What a command prints; its exit code must be `wanted`."""
        process = self.start(*words, kill_at=kill_at)
        said = process.communicate(timeout=100)[0].decode(errors="replace")
        check(process.returncode == wanted, f"pipe {' '.join(words)}: exit code {process.returncode}\n{said}")
        return said

    def run(self, *words, **more):
        return self.call("run", "pipeline.yaml", "--work", "work", "-j", "1", *words, **more)

    def first_rules(self, log):
        """Words for a run from nothing: stages that an earlier version has begun keep their reading rules, which its log
        has; rules 1 are in no recipe."""
        rules = {name: stage["config"].get("rules", "1") for name, stage in stages_of(log).items()
                 if stage["type"] in ("decompress", "read_rows", "encode")}
        check(rules, "no stage with reading rules was begun")
        return [word for stage, number in rules.items() for word in ("--set", f"stages.{stage}.rules={number}")]

    def log(self):
        return Log(self.root / "work/run.log")

    def temporaries(self):
        return [path for path in self.root.rglob(".*") if TEMPORARY.fullmatch(path.name)]


def finished(log):
    """All units that are done, and inputs that ended, by the last line about each."""
    units = set()
    for kind, fields in log.lines:
        if kind in ("done", "end"):
            units.add(fields["unit"])
        elif kind == "void":
            units.discard(fields["unit"])
    return units


def stages_of(log):
    """{stage: its entry in a lineage} of everything that the log knows; named inputs included."""
    stages = {}

    def take(lineage):
        for stage in lineage:
            stages[stage["stage"]] = stage
            for named_input in stage.get("ports", ()):
                take(named_input["lineage"])

    for kind, fields in log.lines:
        if kind == "segment":
            take(json.loads(re.sub("%(..)", lambda hexadecimal: chr(int(hexadecimal[1], 16)), fields["lineage"])))
    return stages


def stage_of(unit):
    return unit.rpartition("/")[0].removesuffix(".in")


# ------------------------------------------------------------------------------------------ making


def stop_a_download(sandbox, server):
    """Leaves a part file with its journal."""
    process = sandbox.start("run", "pipeline.yaml", "--work", "work", "--until", "far_docs",
                            "--set", f"web={server.url}")
    while not server.is_waiting():
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=100)
    check(process.returncode == 143, f"exit code {process.returncode} of a run that was stopped")
    journals = list((sandbox.root / "work/sources").glob("*-sha256.json"))
    check(len(journals) == 1 and json.loads(journals[0].read_text())["bytes"] == HALF, "a download that is half here")


def kill_in_a_shard(sandbox, root):
    """A sandbox whose run was killed while it wrote a shard; a kill within a write leaves a part of the bytes."""
    for passage in range(1, 100):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(sandbox.root, root)
        copy = Sandbox(sandbox.program, root)
        copy.run("--until", "packed", kill_at=f"object.written:{passage}", wanted=-9)
        halves = [path for path in copy.temporaries() if path.name.startswith(".train-00002-of-00003")]
        if halves:
            os.truncate(halves[0], halves[0].stat().st_size // 2)
            return copy
    return check(False, "no kill came while a shard was written")


def write_archive(root, name, content):
    """Writes the files below `root` to tests/golden/NAME/CONTENT.tar.xz, without the traces of this machine."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                entry = archive.gettarinfo(path, str(path.relative_to(root)))
                entry.uid = entry.gid = entry.mtime = 0
                entry.uname = entry.gname = ""
                archive.addfile(entry, io.BytesIO(path.read_bytes()))
    (GOLDEN / name).mkdir(exist_ok=True)
    packed = lzma.compress(made.getvalue(), preset=9 | lzma.PRESET_EXTREME)
    (GOLDEN / name / f"{content}.tar.xz").write_bytes(packed)
    print(f"{GOLDEN / name / content}.tar.xz: {len(packed)} bytes")


def make(program, name):
    with tempfile.TemporaryDirectory() as directory:
        sandbox, far = Sandbox(program, Path(directory) / "place"), sentences(2, 20_000)
        sandbox.root.mkdir()
        (sandbox.root / "corpus.txt.xz").write_bytes(lzma.compress(sentences(1, 10_000)))
        (sandbox.root / "far.txt").write_bytes(far)
        checksum = f"sha256:{hashlib.sha256(far).hexdigest()}"
        (sandbox.root / "pipeline.yaml").write_text(FILE.format(checksum=checksum), encoding="utf-8")
        server = WebServer(far, name="far.txt")
        server.here(HALF)
        stop_a_download(sandbox, server)
        server.break_off()
        server.stop()
        for last in ("rows", "text", "data", "bert"):
            sandbox.run("--until", last)
        sandbox.run("--until", "packed", kill_at="shard.logged:2", wanted=-9)
        left = kill_in_a_shard(sandbox, Path(directory) / "left")
        for page in left.root.glob("work/runs/*/report.html"):
            page.unlink()  # made from the other files, and the largest of all
        write_archive(left.root, name, "work")


# -------------------------------------------------------------------------------------- continuing


class Scenarios:
    """In the order of a machine that got a new version of the program."""

    def __init__(self, program, root, archive):
        self.left, self.whole, anew = (Sandbox(program, root / name) for name in ("left", "whole", "anew"))
        for sandbox in (self.left, self.whole, anew):
            with tarfile.open(archive) as packed:
                packed.extractall(sandbox.root)
        for sandbox in (self.whole, anew):
            for made in ("work", "out"):
                shutil.rmtree(sandbox.root / made)
        for stage, artifact in REUSED.items():
            shutil.copytree(self.left.root / "out" / artifact, self.whole.root / "out" / artifact)
            anew.run("--until", stage, *anew.first_rules(self.left.log()))
        before, now = stages_of(self.left.log()), stages_of(anew.log())
        said = self.whole.run("--keep-intermediates", *self.whole.first_rules(self.left.log()))
        for stage in REUSED:
            is_other = before[stage]["libraries"] != now[stage]["libraries"]
            check((f"stage '{stage}' was made" in said) == is_other, f"about what is reused:\n{said}")
        self.wanted = tree(self.whole.root / "out")
        self.before = self.left.log()
        self.renewed = self.renewed_stages()

    @scenario
    def everything_can_be_read(self):
        left = self.left
        for stage, artifact in PUBLISHED.items():
            left.call("verify", f"out/{artifact}")
            same = tree(left.root / "out" / artifact) == tree(self.whole.root / "out" / artifact)
            check(same or stage in self.renewed, f"out/{artifact}: other bytes than a run from nothing publishes")
        readable = [f"out/{artifact}" for stage, artifact in PUBLISHED.items() if stage not in ("tokenizer", "pieces")]
        found = {kind: sorted((left.root / "work").rglob(f"*{kind}")) for kind in (".part", ".spill", ".jsonl")}
        found[".jsonl"] = [path for path in found[".jsonl"] if "quarantine" in path.parts]
        for kind, paths in found.items():
            check(len(paths) >= 5, f"the work directory has {len(paths)} files *{kind}")
            readable += [str(path.relative_to(left.root)) for path in paths]
        for readable_one in (*readable, "work/run.log"):
            check(left.call("cat", readable_one, "--json").strip(), f"pipe cat {readable_one}: nothing")

    @scenario
    def commands_report_the_state(self):
        left = self.left
        runs = left.call("runs", "pipeline.yaml", "--work", "work")
        for outcome in ("done", "cancelled", "killed"):
            check(outcome in runs, f"no run that was {outcome}:\n{runs}")
        status = left.call("status", "pipeline.yaml", "--work", "work")
        for stage in ("rows", "tokenizer", "pick"):
            check(f"{stage}: up to date" in status or stage in self.renewed, f"pipe status: {stage}\n{status}")
        left.call("report", "pipeline.yaml", "--work", "work")
        page = left.root / "work/runs" / self.before.last_run()["id"] / "report.html"
        check(page.exists(), "no page of the last run")

    @scenario
    def finished_units_do_not_run_again(self):
        left, server = self.left, WebServer((self.left.root / "far.txt").read_bytes(), name="far.txt")
        for stage, artifact in (PUBLISHED | UNFINISHED).items():
            if stage in self.renewed:
                shutil.rmtree(left.root / "out" / artifact, ignore_errors=True)
        said = left.run("--set", f"web={server.url}", "--keep-intermediates")
        server.stop()
        gets = sorted(first for method, first in server.requests if method == "GET")
        check(gets == [HALF], f"the download was continued from {gets}, and {HALF} bytes were here")
        log = left.log()
        added = [fields["unit"] for kind, fields in log.lines[len(self.before.lines):] if "unit" in fields]
        done = finished(self.before)
        check(len(done) > 40, f"only {len(done)} units were finished")
        again = sorted(unit for unit in done if unit in added and stage_of(unit) not in self.renewed)
        check(not again, f"units that were finished ran again: {', '.join(again)}\n{said}")
        check(not left.temporaries(), f"left behind: {left.temporaries()}")

    @scenario
    def published_bytes_are_those_of_a_run_from_nothing(self):
        found = tree(self.left.root / "out")
        differing = sorted(name for name in {*found, *self.wanted} if found.get(name) != self.wanted.get(name))
        check(not differing, f"other bytes than a run from nothing publishes: {', '.join(differing)}")
        for artifact in (PUBLISHED | UNFINISHED).values():
            self.left.call("verify", f"out/{artifact}")

    @scenario
    def partition_files_have_the_records_of_a_run_from_nothing(self):
        parts = {str(path.relative_to(self.left.root)) for path in self.left.root.glob("work/artifacts/*/*.part")}
        parts &= {str(path.relative_to(self.whole.root)) for path in self.whole.root.glob("work/artifacts/*/*.part")}
        check(len(parts) >= 5, f"both work directories have {len(parts)} files *.part")
        for name in parts:
            same = self.left.call("cat", name, "--json") == self.whole.call("cat", name, "--json")
            check(same, f"{name}: other records")

    @scenario
    def the_next_run_has_nothing_to_do(self):
        lines = len(self.left.log().lines)
        self.left.run()
        added = [fields for kind, fields in self.left.log().lines[lines:] if kind != "run"]
        check(not added, f"the next run did {added}")
        self.left.call("clean", "pipeline.yaml", "--work", "work")

    def renewed_stages(self):
        """Stages with another version, or with another version of a library, than in the archive, and their readers;
        not those that are reused."""
        before, now = stages_of(self.before), stages_of(self.whole.log())
        renewed = {name for name, stage in before.items() if name in now and name not in REUSED and
                   (stage["version"], stage["libraries"]) != (now[name]["version"], now[name]["libraries"])}
        readers = set(renewed)
        for kind, fields in self.before.lines:
            if kind == "segment":
                chain = re.findall(r'"stage":"(\w+)"', fields["lineage"])
                first = min((at for at, name in enumerate(chain) if name in renewed), default=len(chain))
                readers |= set(chain[first:])
        if readers:
            print(f"renewed since then: {', '.join(sorted(readers))}")
        return readers


if __name__ == "__main__":
    pipe = str(Path(sys.argv[1]).resolve())
    if sys.argv[2:3] == ["make"]:
        make(pipe, sys.argv[3])
    else:
        archives = sorted(GOLDEN.glob("*/work.tar.xz"))
        check(archives, "no work of an earlier version")
        for work in archives:
            print(f"work of {work.parent.name}", flush=True)
            with tempfile.TemporaryDirectory() as temporary:
                play(Scenarios(pipe, Path(temporary), work))
