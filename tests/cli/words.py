#!/usr/bin/env python3
"""Samples and morphemes from the program itself: wrong dictionaries, lines that no analyser accepts, and the same
records with any number of threads.

    words.py PIPE [SCENARIO...]
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import replan_support as support
from replan_support import Place, check, check_says

IPADIC = Path("/var/lib/mecab/dic/ipadic-utf8")
SENTENCE = "吾輩は猫である。名前はまだ無い。"


class Words(Place):
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
        for piece in sorted(self.pieces(stage)[-1].glob("*.part")):
            done = subprocess.run([support.PIPE, "cat", "--json", piece], capture_output=True, check=True)
            found += [json.loads(line) for line in done.stdout.splitlines()]
        return found


def morphemes(record):
    """The words of a record; checks that the cuts cover its text byte by byte."""
    text, cuts = record["columns"]["text"].encode(), record["columns"]["cuts"]
    borders = [0, *cuts]
    check(all(a < b for a, b in zip(borders, cuts)), f"cuts do not ascend: {cuts}")
    check(borders[-1] == len(text), f"the last cut is {borders[-1]} of {len(text)}")
    return [text[a:b].decode() for a, b in zip(borders, cuts)]


def fake_dictionary(root, name, charset=b"UTF-8"):
    """IPADIC with another charset in sys.dic; all other files are links."""
    directory = root / name
    directory.mkdir(parents=True)
    for file in ("unk.dic", "matrix.bin", "char.bin", "dicrc"):
        (directory / file).symlink_to(IPADIC / file)
    data = bytearray((IPADIC / "sys.dic").read_bytes())
    data[40:72] = charset.ljust(32, b"\0")
    (directory / "sys.dic").write_bytes(data)
    return directory


def refused_dictionaries():
    """Missing, incomplete, of another charset, and an unknown name."""
    with Words([SENTENCE]) as place:
        fake_dictionary(place.root / "places", "ipadic-utf8", b"EUC-JP")
        run = place.run(env={"PIPE_DICTIONARIES": f"/nowhere:{place.root}/places"})
        check(run.code in (1, 2), f"exit {run.code}")
        check_says(run.err, "stage 'words': ", "ipadic-utf8: is in the charset EUC-JP",
                   "apt-get install mecab-ipadic-utf8")
        (place.root / "places/ipadic-utf8/matrix.bin").unlink()
        run = place.run(env={"PIPE_DICTIONARIES": f"{place.root}/places"})
        check_says(run.err, "holds no file matrix.bin", "apt-get install mecab-ipadic-utf8")
        place.stages["words"]["dictionary"] = str(place.root / "empty")
        run = place.run()
        check(run.code in (1, 2), f"exit {run.code}")
        check_says(run.err, "/empty holds no file sys.dic", "mecab-dict-index")
        place.stages["words"]["dictionary"] = "ipadoc"
        run = place.run()
        check(run.code == 2, f"exit {run.code}")
        check_says(run.err, "'ipadoc' is none of ipadic, unidic, naist and ko")


def places():
    """PIPE_DICTIONARIES precedes the system's directories; the user's rc file has no effect."""
    with Words([SENTENCE]) as place:
        fake_dictionary(place.root / "places", "mecab-ko-dic")
        place.stages["words"]["dictionary"] = "ko"
        (place.root / ".mecabrc").write_text("dicdir = /nowhere\n")
        place.ok(env={"PIPE_DICTIONARIES": f"{place.root}/places", "HOME": str(place.root)})
        found = morphemes(place.records()[0])
        check(found[:6] == ["吾輩", "は", "猫", "で", "ある", "。"], f"found {found}")


def long_lines():
    """A megabyte without a sentence end is accepted, counted and not changed."""
    endless = "すもももももももものうちに" * 27_000
    letters = "abcdefghij" * 26_000
    with Words([SENTENCE, endless, letters, SENTENCE * 1000]) as place:
        run = place.ok()
        check_says(run.err + run.out, "cut_inside_sentence 2")
        records = place.records()
        check([record["columns"]["text"] for record in records] == [SENTENCE, endless, letters, SENTENCE * 1000],
              "the text changed")
        words = [morphemes(record) for record in records]
        check(words[3] == words[0] * 1000, "sentences of a long line are not those of a short one")
        check(len(words[1]) > 27_000 * 5, f"{len(words[1])} morphemes in the long line")


def korean():
    """Uses the dictionary of `./dev dictionaries`; white space belongs to the word after it."""
    with Words(["한국어 형태소를 분석합니다."], "ko") as place:
        home = Path(__file__).parents[2] / ".dictionaries"
        check((home / "mecab-ko-dic").is_dir(), "no .dictionaries; run ./dev dictionaries")
        place.ok(env={"PIPE_DICTIONARIES": str(home)})
        found = morphemes(place.records()[0])
        check(found == ["한국어", " 형태소", "를", " 분석", "합니다", "."], f"found {found}")


def another_dictionary():
    """At a path, other bytes are another dictionary; under a name they belong to the machine, and the change is
    reported."""
    with Words([SENTENCE]) as place:
        places = {"PIPE_DICTIONARIES": f"{place.root}/places"}
        directory = fake_dictionary(place.root / "places", "ipadic-utf8")

        def change(byte):
            with (directory / "sys.dic").open("r+b") as file:
                file.seek(71)  # after the name of the charset, which ends with a NUL
                file.write(byte)

        place.stages["words"]["dictionary"] = str(directory)
        check(place.ok().of("partitions", "words") == 1, "it did not run")
        check(not place.ok().units, "a second run did something")
        change(b"!")
        run = place.ok()
        check(run.of("partitions", "words") == 1, f"ran {run.counted()}")

        place.stages["words"] |= {"dictionary": "ipadic", "keep": False}
        place.stages["text"] = {"type": "write_tfds", "input": "words", "name": "tiny", "out": str(place.out)}
        place.ok(env=places)
        change(b"?")
        run = place.ok(env=places)
        check(not run.units, f"ran {run.counted()}")
        check_says(run.err, "made on another machine", "dictionary ipadic/sys.dic")
        run = place.run("--strict", env=places)
        check(run.code == 2, f"exit {run.code}")
        check_says(run.err, "holds another recipe", "dictionary ipadic/sys.dic")
        shutil.rmtree(place.root / "places")  # complete outputs need no dictionary
        place.stages["words"]["dictionary"] = "unidic"
        fake_dictionary(place.root / "places", "unidic")
        place.stages["text"]["version"] = "2.0.0"
        place.ok(env=places)
        shutil.rmtree(place.root / "places")
        run = place.ok(env={"PIPE_DICTIONARIES": "/nowhere"})
        check(not run.units, f"without the dictionary: ran {run.counted()}")


def samples():
    """The same sample with any number of threads, and after kills; another seed gives another sample."""
    def chosen(place):
        place.stages["docs"] = {"type": "split", "input": "clean", "splits": {"train": "rest", "test": 0.2}}
        place.stages["pick"] = {"type": "sample", "input": "docs", "split": "train", "bytes": "20kB", "seed": seed,
                                "partition": "4KiB"}
        place.stages["words"]["input"] = "pick"
        return place

    lines = [f"第{number}話、{SENTENCE}" + "すもも" * (number % 40) for number in range(3000)]
    found = {}
    for seed, threads, kills in ((0, "1", ()), (1, "2", ()),
                                 (0, "3", ("partition.logged:3", "partition.committed:5", "partition.logged:4",
                                           "partition.committed:2", "input.ended:1"))):
        with chosen(Words(lines)) as place:
            for point in kills:
                killed = place.run("-j", threads, env={"PIPE_KILL_AT": point})
                check(killed.code == -9, f"{point}: exit {killed.code}, not killed")
            run = place.ok("-j", threads)
            check_says(run.out + run.err, "sampled_out", "other_split")
            records = place.records()
            texts = [record["columns"]["text"] for record in records]
            size = sum(len(text.encode()) for text in texts)
            check(20_000 - 300 < size <= 20_000, f"{size} bytes in the sample")
            numbers = [int(text[1:text.index("話")]) for text in texts]
            check(numbers == sorted(numbers), "not in the order of the corpus")
            check(all(record["columns"]["split"] == 0 for record in records), "a record of another split")
            check(len({record["partition"] for record in records}) >= 4, "partitions did not close")
            for record in records:
                morphemes(record)
            check(not place.ok().units, "a second run did something")
            check(found.setdefault(seed, records) == records, f"-j {threads} drew other records")
    check(found[0] != found[1], "another seed drew the same sample")


SCENARIOS = (refused_dictionaries, places, long_lines, korean, another_dictionary, samples)

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
