#!/usr/bin/env python3
"""Tables with many bad rows: the run ends at a known point, keeps other inputs, and ends the same way after kills, in partitions
and with any number of threads. The words of the refusals are cases below cases/bad_rows.

    bad_rows.py PIPE
"""

import json
import random
import sys
import tempfile
from pathlib import Path

from pipe_run import Run, fail, hold
from scenarios import play, scenario

FILE = """\
pipe: 1
name: rows
vars: {{ out: "", corpus: "", bad: 0.01 }}
stages:
  source: {{ type: download, url: "${{corpus}}" }}
  lines: {{ type: read_rows, input: source, format: jsonl, text: text, partition: {partition}, max_bad_rows: "${{bad}}"{more} }}
  clean: {{ type: normalize, input: lines }}
  text: {{ type: write_tfds, input: clean, name: rows, version: 1.0.0, shards: 2, out: "${{out}}" }}
"""


def rows(count, bad, seed=1):
    """Returns rows of JSON Lines; row N is cut short if `bad(N)`."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        row = json.dumps({"text": f"{number} " + "あいうえお"[:chance.randrange(1, 6)], "more": number}, ensure_ascii=False)
        made.append(row[:-2] if bad(number) else row)
    return "\n".join(made) + "\n"


class Scenarios:

    def __init__(self, program, root):
        self.program, self.root = program, root

    def run(self, name, *texts, partition="64KiB", more=""):
        """Returns a run over one file per text, with these options."""
        run = Run(self.program, self.root / name, FILE.format(partition=partition, more=more))
        for number, text in enumerate(texts):
            (run.root / f"part-{number:03}.jsonl").write_bytes(text.encode())
        return run

    def end(self, run, *options, code=0, kill_at=None):
        """Runs it, checks the exit code, and returns its messages."""
        before = len(run.messages()) if (run.root / "messages").exists() else 0
        ended = run.finish("--set", f"corpus={run.root}/part-*.jsonl", *options, kill_at=kill_at)
        hold(ended == code, run, f"exit code {ended} instead of {code}")
        return run.messages()[before:]

    def refused(self, run, *words):
        said = self.end(run, code=1)
        for word in words:
            hold(word in said, run, f"it says {word!r}")
        hold(not (run.out / "rows" / "1.0.0" / "MANIFEST.json").exists(), run, "nothing is published")
        return said

    @scenario
    def other_inputs_are_kept(self):
        run = self.run("others", rows(3000, lambda number: False, 1), rows(3000, lambda number: number % 2, 2),
                       rows(3000, lambda number: False, 3))
        self.refused(run, "part-001.jsonl: 1500 of 3000 rows", "line 2,")
        whole = [run.log().ended(f"text/000{number}") for number in range(3)]
        hold(whole[1] == 0 and sum(whole) > 0, run, f"the others' ends are logged: {whole}")
        done = run.log().done("text/0000-")
        self.end(run, "--set", "bad=0.5")
        hold(run.log().done("text/0000-") == done, run, "the first file is not read again")

    @scenario
    def long_before_the_end(self):
        """The first 100,000 rows show it; the rest is not read."""
        text = rows(120_000, lambda number: number % 20 == 4)
        run = self.run("early", text + rows(120_000, lambda number: False, 9), partition="1MiB")
        said = self.refused(run, " rows are at fault", "line 5,")
        read = int(said.split(" rows are at fault")[0].split()[-1])
        hold(100_000 <= read < 150_000, run, f"{read} rows were read")
        parts = run.log().done("text/")
        self.refused(run, f" of {read} rows are at fault")
        hold(run.log().done("text/") == parts, run, "and nothing more is read when it is tried again")

    @scenario
    def the_same_result_any_way(self):
        text = rows(9000, lambda number: number in range(8000, 8150))
        words = ("part-000.jsonl: 150 of 9000 rows", "line 8001,")
        for number, options in enumerate((("-j1",), ("-j4", "--batch-bytes=700"), ("-j2", "--batch-bytes=100000"))):
            said = self.end(self.run(f"way-{number}", text, partition="8KiB"), *options, code=1)
            for word in words:
                if word not in said:
                    fail(f"{options}: {word} is not in {said[-2000:]}")
        run = self.run("kills", text, partition="8KiB")
        for point in ("partition.committed:3", "partition.logged:5", "object.visible:9", "partition.logged:2"):
            self.end(run, kill_at=point, code=-9)
        self.refused(run, *words)
        self.end(run, "--set", "bad=0.02")
        whole = self.run("whole", text, partition="8KiB")
        self.end(whole, "--set", "bad=0.02")
        hold(run.published(lineage=False) == whole.published(lineage=False), run, "it ends with the same bytes")

    @scenario
    def rows_outside_of_a_subset_do_not_count(self):
        text = rows(9000, lambda number: number % 2)
        said = self.end(self.run("subset", text, more=', subset: "10%"'), code=1)
        counted = int(said.split(" rows are at fault")[0].split()[-1])
        if not 700 < counted < 1100:
            fail(f"{counted} rows of a tenth of 9000")


def main(program):
    with tempfile.TemporaryDirectory() as directory:
        play(Scenarios(Path(program).resolve(), Path(directory)))


if __name__ == "__main__":
    main(*sys.argv[1:])
