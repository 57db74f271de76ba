#!/usr/bin/env python3
"""A trial on a part of a corpus: the text that --subset reads and keeps, and the location of its outputs.

    subset.py PIPE
"""

import lzma
import re
import sys
import tempfile
from pathlib import Path

from pipe_run import Run, corpus, differences, fail, text_line
from scenarios import play, scenario
from web_server import WebServer

FILE = text_line("trial", shards=2)
# Three locations, one below the other; a trial's locations are below them.
NESTED = text_line("deep", shards=2) + """\
  outer: { type: write_jsonl, input: docs, shards: 3, out: "${out}" }
  inner: { type: write_jsonl, input: docs, out: "${out}/inner" }
"""
TEXT = corpus(21, 1_500_000)
DOCUMENTS = 300


def documents(text):
    """The bytes of each document with the blank line after it; further blank lines belong to the next document."""
    found, inside = [b""], False
    for line in text.split(b"\n"):
        blank = not line.removesuffix(b"\r")
        found[-1] += line + b"\n"
        if inside and blank:
            found.append(b"")
        inside = not blank
    return found


class Scenarios:

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.whole = self.file("whole.txt.xz", TEXT)
        self.all = self.made("all", self.whole)
        self.partitions = [fields["unit"] for kind, fields in self.last.log().lines
                           if kind == "done" and re.fullmatch("text/[0-9]{4}-[0-9]{5}", fields["unit"])]

    def file(self, name, text):
        path = self.root / name
        path.write_bytes(lzma.compress(text, preset=1))
        return path

    def made(self, name, source, *options):
        """The files that a run published; with --subset, those below the trial's directory."""
        run = Run(self.program, self.root / name, FILE)
        if run.finish("--set", f"corpus={source}", *options) != 0:
            fail(f"{name}: did not end well", run)
        self.last = run
        published = run.published(lineage=False)
        if "--subset" not in options:
            return published
        below = f"subset-{options[options.index('--subset') + 1]}/"
        strange = [path for path in published if not path.startswith(below)]
        if strange or not published:
            fail(f"{name}: lies beside {below}: {strange}", run)
        return {path.removeprefix(below): digest for path, digest in published.items()}

    @staticmethod
    def same(wanted, found, what):
        if wrong := differences(wanted, found):
            fail(f"{what}: {wrong}")

    @scenario
    def the_first_documents(self):
        first = self.made("first", self.file("first.txt.xz", b"".join(documents(TEXT)[:DOCUMENTS])))
        for options in ((), ("-j1", "--batch-bytes=2000")):
            found = self.made(f"number{len(options)}", self.whole, "--subset", str(DOCUMENTS), *options)
            self.same(first, found, f"the first {DOCUMENTS} documents, as if there were no others {options}")

    @scenario
    def the_whole_above_a_trial(self):
        """Neither run takes the other's files for its own, for foreign objects, or for leftovers."""
        run = Run(self.program, self.root / "nested", NESTED)

        def start(*options):
            if run.finish("--set", f"corpus={self.whole}", *options) != 0:
                fail(f"did not end well with {options}", run)
            return run.published()
        trial = start("--subset", "50")
        locations = {name.rpartition("/")[0] for name in trial if name.endswith("/MANIFEST.json")}
        if locations != {"subset-50", "subset-50/deep/1.0.0", "inner/subset-50"}:
            fail(f"the trial lies in {locations}", run)
        both = start()
        self.same(trial, {name: digest for name, digest in both.items() if name in trial}, "a trial below the whole")
        before = {name: digest for name, digest in both.items() if not re.match(r"(train|val)-", name)}
        again = start("--set", "stages.outer.shards=2", "--force", "outer", "--only", "outer")
        if "train-00001-of-00002.json" not in again or "train-00002-of-00003.json" in again:
            fail(f"not replaced: {sorted(again)}", run)
        del before["MANIFEST.json"]
        self.same(before, {name: digest for name, digest in again.items() if name in before}, "what lies below")
        for location in (".", "inner", "deep/1.0.0", *locations):
            if run.verify(run.out / location) != 0:
                fail(f"verify {location}", run)
        removed = re.findall(f"removed {re.escape(str(run.out))}/(.*): left", run.messages())
        if "in no manifest" in run.messages() or not all(re.match("(train|val)-", name) for name in removed):
            fail(f"taken for leftovers: {removed}", run)

    @scenario
    def a_part_of_all(self):
        found = self.made("part", self.whole, "--subset", "20%")
        self.same(found, self.made("part_small", self.whole, "--subset", "20%", "-j1", "--batch-bytes=2000"),
                  "a part is the same in any batches")
        if found == self.all:
            fail("20% are all")
        self.same(self.all, self.made("everything", self.whole, "--subset", "100%"), "100% are all")
        if "all of the corpus is read" not in self.last.messages():
            fail("nobody said that a part reads everything", self.last)

    @scenario
    def the_download_ends_early(self):
        text = corpus(22, 5_000_000)  # several chunks that are decoded ahead
        server = WebServer(lzma.compress(text, preset=1))
        server.here(len(server.data) // 2)
        found = self.made("early", server.url, "--subset", "50")
        self.same(self.made("early_local", self.file("early.txt.xz", text), "--subset", "50"), found,
                  "half a file is enough for its first documents")
        if server.sent > len(server.data) // 2:
            fail("more was sent than is here")
        server.stop()

    @scenario
    def a_trial_leaves_the_whole_alone(self):
        run = Run(self.program, self.root / "both", FILE)
        for options in (("--subset", "50"), (), ("--subset", "50")):
            if run.finish("--set", f"corpus={self.whole}", *options) != 0:
                fail(f"both: {options} did not end well", run)
        published = run.published(lineage=False)
        whole = {path: digest for path, digest in published.items() if not path.startswith("subset-50/")}
        self.same(self.all, whole, "the whole beside its trial")
        if "up to date" not in run.messages()[-600:]:
            fail("the trial was made twice", run)

    @scenario
    def a_trial_takes_nothing_from_a_run_that_was_killed(self):
        run = Run(self.program, self.root / "killed", FILE)
        if run.finish("--set", f"corpus={self.whole}", kill_at="partition.logged") != -9:
            fail("was not killed", run)
        done = run.log().done("text")
        for subset in ("50%", "50"):
            if run.finish("--set", f"corpus={self.whole}", "--subset", subset) != 0:
                fail(f"--subset {subset} did not end well", run)
        if run.log().done("text") != done:
            fail("a trial wrote into the log of the whole", run)
        if run.finish("--set", f"corpus={self.whole}") != 0:
            fail("did not go on", run)
        partitions = run.log().done("text/[0-9]{4}-[0-9]{5}")
        if partitions != len(set(self.partitions)):
            fail(f"{partitions} partitions were made for {len(set(self.partitions))}", run)


def main(program):
    with tempfile.TemporaryDirectory() as directory:
        play(Scenarios(program, Path(directory)))


if __name__ == "__main__":
    main(sys.argv[1])
