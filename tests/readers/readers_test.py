#!/usr/bin/env python3
"""The readers beside this file against the text that went in.

    readers_test.py PIPE

Each reader was written from the pages that it names, and has the standard library alone (checkpoint.py has a test in
tests/trainer). Rows, ids and splits are made from the text a second time, by tests/oracle/compare_packed.py.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "oracle")]

import compare_packed  # noqa: E402
import manifest  # noqa: E402
import packed  # noqa: E402
import partition_file  # noqa: E402
import sentencepiece  # noqa: E402
import spill_file  # noqa: E402
import xxh3  # noqa: E402
import xxhash  # noqa: E402
from program import ran  # noqa: E402

HEAD = """\
pipe: 1
name: readers
vars: {{ out: "", corpus: "" }}
stages:
  source: {{ type: download, url: "${{corpus}}" }}
  lines: {{ type: decompress, input: source, partition: 8KiB }}
  clean: {{ type: normalize, input: lines, form: nfkc }}
  docs: {{ type: split, input: clean, keep: true, splits: {{ train: rest{rest} }} }}
  tokens: {{ type: encode, input: docs, keep: true, tokenizer: {tokenizer} }}
"""
TRAINED = """\
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: 800, character_coverage: 0.98, byte_fallback: true,
               symbols: [<answer>], out: "${out}/tokenizer" }
"""
ROWS = {  # by the name of the stage; all with seq_len: 32
    "example": "shards: 2",
    "segments": "encoding: array_record, packing: best_fit, segments: true, shards: 2",
    "raw16": "encoding: raw16, shuffle: { seed: 3, compress_spills: true }",
    "raw32": "encoding: raw32, packing: best_fit, shuffle: { seed: 3 }",
    "mmap": "encoding: mmap, shards: 2",
}
ANSWERS = "answers_after: <answer>, shuffle: none, shards: 1"
ENCODINGS = ("example", "array_record", "raw16", "mmap")
DOCUMENTS = 'packing: documents, encoding: mmap, shuffle: none, shards: 1'
FLIPS = 10  # of a file


def stages(**keys):
    return "".join(f'  {name}: {{ type: write_packed, input: tokens, {words}, out: "${{out}}/{name}" }}\n'
                   for name, words in keys.items())


def corpus(seed, size):
    """Japanese documents, each with a question and an answer."""
    chance, made, lines = random.Random(seed), 0, []
    letters = [chr(code) for code in (*range(0x3042, 0x3094), *range(0x4e00, 0x4e80))]
    while made < size:
        for begin in ("", "<answer>", "") if chance.random() < 0.8 else ("",):
            lines.append(begin + "".join(chance.choices(letters, k=chance.choice((1, 5, 20, 60)))) + "ｶﾞ１")
            made += 3 * len(lines[-1])
        lines.append("")
    return "\n".join(lines) + "\n"


def hex_blocks(page):
    """The bytes of each block of hex of a page of formats/."""
    for block in re.findall(r"```hex\n(.*?)```", (ROOT / "formats" / page).read_text(encoding="utf-8"), re.S):
        groups = [group for line in block.splitlines() for group in re.split(r"\s{2,}", line.strip())]
        yield bytes.fromhex("".join(group for group in groups if re.fullmatch("[0-9a-f]{2}( [0-9a-f]{2})*", group)))


class Readers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = Path(place.name)
        cls.rows = {name: f"seq_len: 32, {words}" for name, words in {**ROWS, "answers": ANSWERS}.items()}
        cls.text = corpus(5, 30_000)
        cls.out = cls.run_over("many", cls.text, TRAINED + stages(**cls.rows, documents=DOCUMENTS),
                               "tokenizer", ", validation: 0.2")
        model = cls.out / "tokenizer" / "tokenizer.model"
        cls.model = sentencepiece.SentencePieceProcessor(model_file=str(model))
        cls.one = cls.run_over("one", "猫が鳴く\n", stages(**{
            name: f"seq_len: 32, shards: 3, encoding: {name}" for name in ENCODINGS}), model)

    @classmethod
    def run_over(cls, name, text, words, tokenizer, rest=""):
        """Runs a pipeline over the text, and returns the directory of its artifacts."""
        corpus_file, file, place = cls.place / f"{name}.txt", cls.place / f"{name}.yaml", cls.place / name
        corpus_file.write_text(text, encoding="utf-8")
        file.write_text(HEAD.format(tokenizer=tokenizer, rest=rest) + words, encoding="utf-8")
        ran(PIPE, "run", file, "--work", place / "work", "--keep-intermediates", "--set", f"corpus={corpus_file}",
            "--set", f"out={place / 'out'}")
        return place / "out"

    def documents(self):
        """(split, lines) of each document of the text."""
        rule = compare_packed.SplitRule([("train", "rest"), ("validation", "0.2")])
        return [(rule.of(key), lines)
                for key, lines in compare_packed.documents(self.place / "many.txt", "nfkc") if lines]

    def kept(self, stage):
        directory, = (self.place / "many/work/artifacts").glob(f"{stage}-*")
        return directory

    def refuses(self, path, read, end=None):
        """`read` refuses the file with one bit changed before `end`, and one that is shorter or longer."""
        before, chance = path.read_bytes(), random.Random(path.name)
        self.addCleanup(path.write_bytes, before)
        for at in chance.sample(range(end or len(before.rstrip())), FLIPS):
            damaged = bytearray(before)
            damaged[at] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            with self.assertRaises(ValueError, msg=f"{path}: byte {at} of {len(before)}"):
                read()
        for other in (before.rstrip()[:-1], before + b"\0"):
            path.write_bytes(other)
            with self.assertRaises(ValueError, msg=f"{path}: {len(other)} bytes of {len(before)}"):
                read()
        path.write_bytes(before)
        read()

    def test_hash_is_that_of_the_library(self):
        chance = random.Random(1)
        for size in (*range(260), 511, 512, 513, 1023, 1024, 1025, 3000, 20_000):
            data = chance.randbytes(size)
            self.assertEqual(xxh3.digest(data), xxhash.xxh3_128_hexdigest(data), size)

    def test_rows_are_those_of_the_text(self):
        for name in ROWS:
            info, found = packed.rows_of(self.out / name)
            options = argparse.Namespace(split=[("train", "rest"), ("validation", "0.2")], form="nfkc", stage=name,
                                         corpus=self.place / "many.txt", log=self.place / "many/work/run.log")
            expected = compare_packed.expected_rows(options, info, self.model)
            for split, rows in found.items():
                read = Counter((tuple(row["tokens"]), *(numbers or ()),
                                *(tuple(row[key]) for key in ("segment_ids", "positions") if key in row))
                               for row, numbers in rows)
                wanted = expected[split] if name != "mmap" else Counter((row[0],) for row in expected[split].elements())
                self.assertGreater(len(rows), 10)
                self.assertEqual(read, wanted, f"{name}/{split}")

    def test_weights_are_those_behind_the_piece(self):
        info, found = packed.rows_of(self.out / "answers")
        piece, eos = self.model.piece_to_id("<answer>"), info["tokenizer"]["eos_id"]
        for rows in found.values():
            ones = 0
            for row, (length, _, _) in rows:
                if row["tokens"][0] != eos and row["tokens"][0] != before["tokens"][-1]:
                    self.fail("a row does not go on with the id of the one before")
                scored = scored if row["tokens"][0] != eos else False
                for at in range(1, length):
                    self.assertEqual(row["weights"][at], int(scored), row)
                    scored = (scored or row["tokens"][at] == piece) and row["tokens"][at] != eos
                before, ones = row, ones + sum(row["weights"])
            self.assertGreater(ones, 100)

    def test_documents_are_those_of_the_text(self):
        info, found = packed.rows_of(self.out / "documents")
        expected = {name: [] for name in found}
        for split, lines in self.documents():
            stream = compare_packed.Stream(0)
            compare_packed.add_document(stream, lines, self.model, info["tokenizer"])
            expected[split].append(stream.ids[1:])
        self.assertEqual({name: [row["tokens"] for row, _ in rows] for name, rows in found.items()}, expected)

    def test_partitions_have_the_lines_of_the_text(self):
        wanted = [(split, line) for split, lines in self.documents() for line in lines]
        for stage in ("docs", "tokens"):
            directory, found, digests = self.kept(stage), [], []
            about = manifest.read(directory)
            names = about["schema"]["splits"]
            for partition in about["partitions"]:
                said, columns = partition_file.read((directory / partition["objects"][0]["object"]).read_bytes())
                self.assertEqual(said["digest"], partition["digest"])
                self.assertEqual(said["schema"], about["schema"]["columns"])
                found += [(names[split], text) for split, text in zip(columns["split"], columns["text"])]
                if stage == "tokens":
                    self.assertEqual(columns["ids"], [self.model.encode(text) for text in columns["text"]])
            self.assertGreater(len(about["partitions"]), 2)
            self.assertEqual(found, wanted)

    def test_spills_have_a_row_for_each_that_is_published(self):
        counted, forms = {}, {}
        for name in ("raw16", "raw32"):
            directory = self.place / "many/work/artifacts"
            for path in sorted(directory.glob(f"{name}-*/*.spill")):
                said, splits = spill_file.read(path.read_bytes())
                forms[name] = said["compression"]
                for split, rows in splits.items():
                    counted[name, split] = counted.get((name, split), 0) + len(rows)
            info = json.loads((self.out / name / "packed.json").read_text())
            self.assertEqual([counted[name, at] for at in (0, 1)], [split["rows"] for split in info["splits"].values()])
        self.assertEqual(forms, {"raw16": 1, "raw32": 0})

    def test_manifests_name_every_file(self):
        for directory in (*(self.out / name for name in ("tokenizer", "documents", *self.rows)), self.kept("docs")):
            about = manifest.read(directory)
            named = {entry["object"]: entry for entry in manifest.objects(about)}
            here = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
            self.assertEqual(set(named), {name for name in here - {"MANIFEST.json"} if not name.startswith(".pipe/")})
            for name, entry in named.items():
                self.assertEqual(entry["digest"], xxhash.xxh3_128_hexdigest((directory / name).read_bytes()))

    def test_one_record_and_files_without_any(self):
        ids = self.model.encode("猫が鳴く")
        for name in ENCODINGS:
            info, found = packed.rows_of(self.one / name)
            manifest.read(self.one / name)
            eos, fill = info["tokenizer"]["eos_id"], info["fill_id"]
            row = [eos, *ids, eos]
            self.assertEqual([row["tokens"] for row, _ in found["train"]], [row + [fill] * (33 - len(row))])
            self.assertEqual([shard["rows"] for shard in info["splits"]["train"]["shards"]].count(0), 2)

    def test_pages_have_files_without_rows_and_stored_frames(self):
        said, columns = partition_file.read(list(hex_blocks("partition_file.md"))[-1])
        self.assertEqual((said["partition"], said["raw_end"], said["document_end"]), (2, 9, 1))
        self.assertEqual((said["schema"], columns["text"]), ({"split": "u8", "text": "utf8"}, []))
        page, = hex_blocks("spill_file.md")
        rows = [(0x0010000000000005, 3, 0, b"hi"), (0xffff000000000001, 1, 2, b"")]
        self.assertEqual(spill_file.read(page)[1], {1: rows})

    def test_a_changed_byte_is_refused(self):
        for name in ("example", "segments"):
            directory, info = self.out / name, json.loads((self.out / name / "packed.json").read_text())
            shard = info["splits"]["validation"]["shards"][0]
            for path in (directory / shard["object"], directory / shard["index"]):
                padding = path.read_bytes().find(bytes(1000))  # of an ArrayRecord, behind the header of its chunk
                self.refuses(path, lambda d=directory, s=shard, i=info: packed.shard(d, s, i),
                             padding - 40 if padding > 0 else None)
        index = self.out / "documents/validation/validation-00000-of-00001.idx"
        self.refuses(index, lambda: packed.rows_of(self.out / "documents"))
        for name in ("MANIFEST.json", "packed.json", "train-00000-of-00001.bin", "train-00000-of-00001.rows"):
            self.refuses(self.out / "raw32" / name, lambda: manifest.read(self.out / "raw32"))
        for path in (self.kept("docs") / "0000-00000.part", self.kept("tokens") / "0000-00001.part"):
            self.refuses(path, lambda path=path: partition_file.read(path.read_bytes()))
        for name in ("raw16", "raw32"):
            path, = (self.place / "many/work/artifacts").glob(f"{name}-*/0000-00000.spill")
            self.refuses(path, lambda path=path: spill_file.read(path.read_bytes()))

    def test_they_run_without_other_packages(self):
        def rows(name):
            splits = json.loads((self.out / name / "packed.json").read_text())["splits"].values()
            return [shard["rows"] for split in splits for shard in split["shards"]]

        lines = {"tfrecord": rows("example")[0], "array_record": rows("segments")[0], "packed": sum(rows("answers")),
                 "megatron_index": sum(split == "train" for split, _ in self.documents()), "partition_file": None,
                 "spill_file": None, "manifest": 10}
        places = {"tfrecord": self.out / "example/train-00000-of-00002.tfrecord", "packed": self.out / "answers",
                  "array_record": self.out / "segments/train-00000-of-00002.array_record",
                  "megatron_index": self.out / "documents/train/train-00000-of-00001", "manifest": self.out / "example",
                  "partition_file": self.kept("docs") / "0000-00000.part",
                  "spill_file": self.kept("raw16") / "0000-00000.spill"}
        for reader, place in places.items():
            done = subprocess.run([sys.executable, "-S", "-B", HERE / f"{reader}.py", place], capture_output=True,
                                  check=True)
            said = len(done.stdout.splitlines())
            self.assertTrue(said == lines[reader] or said > 5 and lines[reader] is None, f"{reader}: {said} lines")

    def test_none_is_longer_than_100_lines(self):
        for path in HERE.glob("*.py"):
            if path.name != "readers_test.py":
                self.assertLessEqual(len(path.read_text(encoding="utf-8").splitlines()), 100, path.name)


if __name__ == "__main__":
    PIPE = sys.argv.pop(1)
    unittest.main()
