#!/usr/bin/env python3
"""`pipe --version` and `pipe plugins` tell the versions of what is really written, and the commit that was built.

    version.py PIPE CMAKE

A small pipeline and its work package are compared with the numbers; the trainer in Python has its own constants.
"""

import json
import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from released_work import Sandbox, sentences, stages_of
from scenarios import check, play, scenario

ROOT = Path(__file__).resolve().parents[2]
FILE = """\
pipe: 1
name: told
stages:
  source: { type: download, url: corpus.txt.xz }
  lines: { type: decompress, input: source, partition: 64KiB }
  clean: { type: normalize, input: lines, form: nfkc, keep: true }
  docs: { type: split, input: clean, splits: { train: rest, validation: 0.25 } }
  pieces: { type: train_tokenizer, input: docs, model: wordpiece, layout: bert, vocab_size: 120, out: out/pieces }
  ids: { type: encode, input: docs, tokenizer: pieces }
  packed: { type: write_packed, input: ids, seq_len: 64, out: out/packed }
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: 310, max_piece_length: 4, out: out/tokenizer }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  data: { type: write_tfdata, input: tokens, name: near, out: out/data }
"""
TRAILER = 24  # bytes: formats/footer.h


def numbers(text):
    """{name: version} of "name 1, other name 2.3"."""
    return dict(re.fullmatch(r"(.+?) (\d\S*(?: \(.*\))?)", part).groups() for part in text.split(", "))


class Scenarios:
    def __init__(self, program, cmake, root):
        self.cmake, self.root = cmake, root
        self.place = Sandbox(program, root / "place")
        self.place.root.mkdir()
        (self.place.root / "corpus.txt.xz").write_bytes(lzma.compress(sentences(1, 20_000)))
        (self.place.root / "pipeline.yaml").write_text(FILE)
        lines = self.place.call("--version").splitlines()
        self.told = {name: numbers(text) for name, _, text in (line.partition(": ") for line in lines) if text}

    def written(self, name):
        """The highest version that a JSON file of this name has, in its member `pipe_…`."""
        files = [json.loads(path.read_text()) for path in self.place.root.rglob(name)]
        return str(max(value for found in files for key, value in found.items() if key.startswith("pipe_")))

    @scenario
    def forms_are_those_of_the_files(self):
        self.place.call("plan", "pipeline.yaml", "--work", "other", "-o", "package")
        unit = json.loads((self.place.root / "package/plan.json").read_text())["units"][0]["unit"]
        self.place.call("worker", "--plan", "package", "-j", "1", "--unit", unit)
        spills = set()
        for kill in range(1, 60):  # a spill is removed once it is in a shard
            self.place.run("--until", "packed", kill_at=f"object.written:{kill}", wanted=-9)
            spills.update(path.read_bytes()[-TRAILER:] for path in self.place.root.rglob("*.spill"))
            if spills:
                break
        self.place.run()
        partition = next(self.place.root.rglob("work/**/*.part"))
        record = json.loads(next(self.place.root.rglob("work/runs/*/events.jsonl")).read_text().splitlines()[0])
        found = {
            "pipeline file": re.match(r"pipe: (\d+)", FILE)[1],
            "manifest": self.written("MANIFEST.json"),
            "run log": re.match(r"# pipe run log v(\d+)\n", (self.place.root / "work/run.log").read_text())[1],
            "run record": str(record["record"]),
            "partition file": str(int.from_bytes(partition.read_bytes()[-16:-12], "little")),
            "spill file": str(int.from_bytes(spills.pop()[-16:-12], "little")),
            "work package": self.written("plan.json"),
            "work result": self.written("package/done/**/*.json"),
            "packed.json": self.written("packed.json"),
            "tfdata.json": self.written("tfdata.json"),
        }
        check(found == self.told["formats"], f"written are {found}, told {self.told['formats']}")

    @scenario
    def libraries_are_those_of_the_lineages(self):
        found = {}
        for stage in stages_of(self.place.log()).values():
            found |= stage["libraries"]
        for path in self.place.root.rglob("MANIFEST.json"):
            found |= json.loads(path.read_text())["lineage"][-1]["libraries"]
        told = self.told["libraries in recipes"]
        check(len(found) == 3 and found.items() <= told.items(), f"recipes have {found}, told is {told}")

    @scenario
    def the_trainer_has_the_versions_of_its_plugin(self):
        trainer = ROOT / "plugins/train/python/pipe_trainer"
        job = re.search(r'"pipe_job"\) != (\d+)', (trainer / "run/job.py").read_text())[1]
        parts = re.search(r"^VERSION, OF_A_HOST = \d+, (\d+) ", (trainer / "checkpoints/digests.py").read_text(), re.M)[1]
        told = dict(re.findall(r"^  format   (.+)  (\d+)$", self.place.call("plugins"), re.M))
        check(told == {"trainer contract": job, "checkpoint": parts}, f"pipe plugins tells {told}")

    def commit_of(self, source):
        out = self.root / "commit.h"
        subprocess.run([self.cmake, f"-DSOURCE={source}", f"-DOUT={out}", "-P", ROOT / "cli/commands/commit.cmake"], check=True)
        return re.search(r'PIPE_COMMIT "(.+)"', out.read_text())[1], out.stat().st_mtime_ns

    @scenario
    def the_commit_is_that_of_each_build(self):
        clone = self.root / "clone"
        (clone / "inner").mkdir(parents=True)
        git = ["git", "-C", clone, "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        check(self.commit_of(clone)[0] == "unknown", "a commit outside of a clone")
        subprocess.run([*git, "init", "-q"], check=True)
        for text in ("first", "second"):
            (clone / "file").write_text(text)
            subprocess.run([*git, "add", "file"], check=True)
            subprocess.run([*git, "commit", "-q", "-m", text], check=True)
            name = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
            told, made = self.commit_of(clone)
            check(told == name[:12], f"{told} in place of {name}")
            check(self.commit_of(clone) == (told, made), "the header is new without a change")
            (clone / "file").write_text("other")
            check(self.commit_of(clone)[0] == f"{name[:12]}-dirty", "a changed file is not told")
            (clone / "file").write_text(text)
            check(self.commit_of(clone)[0] == name[:12], "a file that is as before is told")
        check(self.commit_of(clone / "inner")[0] == "unknown", "the commit of a clone around the source is told")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        play(Scenarios(str(Path(sys.argv[1]).resolve()), sys.argv[2], Path(temporary)))
