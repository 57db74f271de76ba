#!/usr/bin/env python3
"""Samples and morphemes from the program itself: lines that no analyser accepts, another dictionary, and the same records with
any number of threads. Dictionaries that are refused are the case cases/stages/dictionaries.case.

    words.py PIPE [SCENARIO...]
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import replan_support as support
from replan_support import Sandbox, check, check_says

IPADIC = Path("/var/lib/mecab/dic/ipadic-utf8")
SENTENCE = "吾輩は猫である。名前はまだ無い。"


class Words(Sandbox):
    """Lines, then the morphemes of each line; both are kept."""

    def __init__(self, lines, dictionary="ipadic"):
        super().__init__()
        self.source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self.stages["lines"]["documents"] = "line"
        del self.stages["docs"], self.stages["text"]
        self.stages["words"] = {"type": "segment_words", "input": "clean", "dictionary": dictionary, "keep": True}

    def records(self, stage="words"):
        """The output of `pipe cat --json` for each record of the stage."""
        found = []
        for output in sorted(self.partition_outputs(stage)[-1].glob("*.part")):
            done = subprocess.run([support.PIPE, "cat", "--json", output], capture_output=True, check=True)
            found += [json.loads(line) for line in done.stdout.splitlines()]
        return found


def morphemes(record):
    """The words of a record; checks that the cuts cover its text byte by byte."""
    text, cuts = record["columns"]["text"].encode(), record["columns"]["cuts"]
    borders = [0, *cuts]
    check(all(a < b for a, b in zip(borders, cuts)), f"cuts do not ascend: {cuts}")
    check(borders[-1] == len(text), f"the last cut is {borders[-1]} of {len(text)}")
    return [text[a:b].decode() for a, b in zip(borders, cuts)]


def fake_dictionary(root, name):
    """IPADIC whose sys.dic may be changed; all other files are links."""
    directory = root / name
    directory.mkdir(parents=True)
    for file in ("unk.dic", "matrix.bin", "char.bin", "dicrc"):
        (directory / file).symlink_to(IPADIC / file)
    shutil.copyfile(IPADIC / "sys.dic", directory / "sys.dic")
    return directory


def locations():
    """PIPE_DICTIONARIES precedes the system's directories; the user's rc file has no effect."""
    with Words([SENTENCE]) as sandbox:
        fake_dictionary(sandbox.root / "dictionaries", "mecab-ko-dic")
        sandbox.stages["words"]["dictionary"] = "ko"
        (sandbox.root / ".mecabrc").write_text("dicdir = /nowhere\n")
        sandbox.ok(env={"PIPE_DICTIONARIES": f"{sandbox.root}/dictionaries", "HOME": str(sandbox.root)})
        found = morphemes(sandbox.records()[0])
        check(found[:6] == ["吾輩", "は", "猫", "で", "ある", "。"], f"found {found}")


def long_lines():
    """A megabyte without a sentence end is accepted, counted and not changed."""
    endless = "すもももももももものうちに" * 27_000
    letters = "abcdefghij" * 26_000
    with Words([SENTENCE, endless, letters, SENTENCE * 1000]) as sandbox:
        run = sandbox.ok()
        check_says(run.err + run.out, "cut_inside_sentence 2")
        records = sandbox.records()
        check([record["columns"]["text"] for record in records] == [SENTENCE, endless, letters, SENTENCE * 1000],
              "the text changed")
        words = [morphemes(record) for record in records]
        check(words[3] == words[0] * 1000, "sentences of a long line are not those of a short one")
        check(len(words[1]) > 27_000 * 5, f"{len(words[1])} morphemes in the long line")


def korean():
    """Uses the dictionary of `./dev dictionaries`; white space belongs to the word after it."""
    with Words(["한국어 형태소를 분석합니다."], "ko") as sandbox:
        home = Path(__file__).parents[2] / ".dictionaries"
        check((home / "mecab-ko-dic").is_dir(), "no .dictionaries; run ./dev dictionaries")
        sandbox.ok(env={"PIPE_DICTIONARIES": str(home)})
        found = morphemes(sandbox.records()[0])
        check(found == ["한국어", " 형태소", "를", " 분석", "합니다", "."], f"found {found}")


def another_dictionary():
    """At a path, other bytes are another dictionary; under a name they belong to the machine, and the change is
    reported."""
    with Words([SENTENCE]) as sandbox:
        locations = {"PIPE_DICTIONARIES": f"{sandbox.root}/dictionaries"}
        directory = fake_dictionary(sandbox.root / "dictionaries", "ipadic-utf8")

        def change(byte):
            with (directory / "sys.dic").open("r+b") as file:
                file.seek(71)  # after the name of the charset, which ends with a NUL
                file.write(byte)

        sandbox.stages["words"]["dictionary"] = str(directory)
        check(sandbox.ok().of("partitions", "words") == 1, "it did not run")
        check(not sandbox.ok().units, "a second run did something")
        change(b"!")
        run = sandbox.ok()
        check(run.of("partitions", "words") == 1, f"ran {run.counted()}")

        sandbox.stages["words"] |= {"dictionary": "ipadic", "keep": False}
        sandbox.stages["text"] = {"type": "write_tfds", "input": "words", "name": "tiny", "out": str(sandbox.out)}
        sandbox.ok(env=locations)
        change(b"?")
        run = sandbox.ok(env=locations)
        check(not run.units, f"ran {run.counted()}")
        check_says(run.err, "made with other versions", "dictionary ipadic/sys.dic")
        run = sandbox.run("--strict", env=locations)
        check(run.code == 2, f"exit {run.code}")
        check_says(run.err, "holds another recipe", "dictionary ipadic/sys.dic")
        shutil.rmtree(sandbox.root / "dictionaries")  # complete outputs need no dictionary
        sandbox.stages["words"]["dictionary"] = "unidic"
        fake_dictionary(sandbox.root / "dictionaries", "unidic")
        sandbox.stages["text"]["version"] = "2.0.0"
        sandbox.ok(env=locations)
        shutil.rmtree(sandbox.root / "dictionaries")
        run = sandbox.ok(env={"PIPE_DICTIONARIES": "/nowhere"})
        check(not run.units, f"without the dictionary: ran {run.counted()}")


def samples():
    """The same sample with any number of threads, and after kills; another seed gives another sample."""
    def chosen(sandbox):
        sandbox.stages["docs"] = {"type": "split", "input": "clean", "splits": {"train": "rest", "test": 0.2}}
        sandbox.stages["pick"] = {"type": "sample", "input": "docs", "split": "train", "bytes": "20kB", "seed": seed,
                                  "partition": "4KiB"}
        sandbox.stages["words"]["input"] = "pick"
        return sandbox

    lines = [f"第{number}話、{SENTENCE}" + "すもも" * (number % 40) for number in range(3000)]
    found = {}
    for seed, threads, kills in ((0, "1", ()), (1, "2", ()),
                                 (0, "3", ("partition.logged:3", "partition.committed:5", "partition.logged:4",
                                           "partition.committed:2", "input.ended:1"))):
        with chosen(Words(lines)) as sandbox:
            for point in kills:
                killed = sandbox.run("-j", threads, env={"PIPE_KILL_AT": point})
                check(killed.code == -9, f"{point}: exit {killed.code}, not killed")
            run = sandbox.ok("-j", threads)
            check_says(run.out + run.err, "sampled_out", "other_split")
            records = sandbox.records()
            texts = [record["columns"]["text"] for record in records]
            size = sum(len(text.encode()) for text in texts)
            check(20_000 - 300 < size <= 20_000, f"{size} bytes in the sample")
            numbers = [int(text[1:text.index("話")]) for text in texts]
            check(numbers == sorted(numbers), "not in the order of the corpus")
            check(all(record["columns"]["split"] == 0 for record in records), "a record of another split")
            check(len({record["partition"] for record in records}) >= 4, "partitions did not close")
            for record in records:
                morphemes(record)
            check(not sandbox.ok().units, "a second run did something")
            check(found.setdefault(seed, records) == records, f"-j {threads} drew other records")
    check(found[0] != found[1], "another seed drew the same sample")


SCENARIOS = (locations, long_lines, korean, another_dictionary, samples)

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
