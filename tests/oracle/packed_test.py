#!/usr/bin/env python3
"""Packed rows in every encoding and both packings, read as their trainers read them, compared with the text.

    packed_test.py PIPE
"""

import json
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import compare_packed
import packed_readers
from program import ran, told
from token_lines import FILE

STAGE = """\
  {name}: {{ type: write_packed, input: tokens, seq_len: {seq_len}, packing: {packing}, encoding: {encoding}, {rest}out: "${{out}}/{name}" }}
"""
SEQ_LEN = 96
ENCODINGS = ("example", "raw16", "raw32", "mmap", "array_record")
HOSTS = 4
CORPUS_BYTES = 220_000


def corpus(seed):
    """Documents of a few characters up to many rows, with characters that no tokenizer has seen."""
    chance, made, lines = random.Random(seed), 0, []
    letters = [chr(code) for code in (*range(0x3042, 0x3094), *range(0x4e00, 0x4f80))]
    while made < CORPUS_BYTES:
        for _ in range(chance.choice((1, 1, 2, 5, 40))):
            line = "".join(chance.choices(letters, k=chance.choice((0, 3, 20, 60, 200))))
            if chance.random() < 0.1:
                line += chr(chance.randrange(0x5000, 0x9fa0)) + "ｶﾞ１"
            if line:
                lines.append(line)
                made += 3 * len(line)
        lines.append("")
    return "\n".join(lines) + "\n"


def rows_of_split(directory, info, split):
    return Counter(tuple(ids) for shard in info["splits"][split]["shards"]
                   for ids, _, _ in packed_readers.rows_of(directory, info, shard))


def check_grain(root):
    """The calls of MaxText on TFRecords and ArrayRecords: all hosts get equally many files, and together all rows
    once."""
    import grain.python
    import grain.sources

    for name in ("stream_example", "best_fit_example"):
        info = json.loads((root / name / "packed.json").read_text())
        files = sorted((root / name).glob("train-*.tfrecord*"))
        if len(files) % HOSTS:
            yield f"{name}: {len(files)} files for {HOSTS} hosts"
        found = Counter()
        for host in range(HOSTS):
            for file in files[host::HOSTS]:
                found.update(tuple(packed_readers.parsed(record, info)[0])
                             for record in packed_readers.grain_tfrecords(file))
        if found != rows_of_split(root / name, info, "train"):
            yield f"{name}: the hosts of Grain's TFRecord source have other rows"
    for name in ("stream_array_record", "best_fit_array_record"):
        info = json.loads((root / name / "packed.json").read_text())
        wanted = rows_of_split(root / name, info, "train")
        files = sorted(map(str, (root / name).glob("train-*.array_record*")))
        for module in (grain.python, grain.sources):
            source = module.ArrayRecordDataSource(files)
            found = Counter(tuple(packed_readers.parsed(source[at], info)[0]) for at in range(len(source)))
            if found != wanted:
                yield f"{name}: {module.__name__}.ArrayRecordDataSource has other rows"
        dataset = grain.python.MapDataset.source(source).shuffle(seed=1)
        hosts = [list(dataset[host::HOSTS]) for host in range(HOSTS)]
        if Counter(tuple(packed_readers.parsed(row, info)[0]) for host in hosts for row in host) != wanted:
            yield f"{name}: the hosts of a shuffled MapDataset have other rows"


def check_google_writes_the_same(root):
    from array_record.python import array_record_module

    for path in sorted((root / "best_fit_array_record").glob("*.array_record")):
        again = root / "again"
        writer = array_record_module.ArrayRecordWriter(str(again), "group_size:1,uncompressed")
        for record in packed_readers.array_records(path):
            writer.write(record)
        writer.close()
        if again.read_bytes() != path.read_bytes():
            yield f"{path.name}: array_record writes other bytes"


def check_mmap(root):
    for name in ("stream_mmap", "best_fit_mmap"):
        info = json.loads((root / name / "packed.json").read_text())
        for split in info["splits"]:
            eos = info["tokenizer"]["eos_id"]
            windows = packed_readers.MaxTextWindows(root / name / split, info["seq_len"] + 1, eos)
            if Counter(tuple(window.tolist()) for window in windows) != rows_of_split(root / name, info, split):
                yield f"{name}/{split}: MaxText's windows are not the rows"
            if any(int(window[0]) == eos and (window[1:] == eos).all() for window in windows):
                yield f"{name}/{split}: a window of eos alone"


def main(pipe):
    stages = {f"{packing}_{encoding}": STAGE.format(
        name=f"{packing}_{encoding}", seq_len=SEQ_LEN, packing=packing, encoding=encoding,
        rest=f"hosts: {HOSTS}, " + ("segments: true, " if encoding == "array_record" else ""))
        for packing in ("stream", "best_fit") for encoding in ENCODINGS}
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        text, file, root = place / "corpus.txt", place / "packed.yaml", place / "out"
        text.write_text(corpus(seed=4), encoding="utf-8")
        file.write_text(FILE + "".join(stages.values()), encoding="utf-8")
        ran(pipe, "run", file, "--work", place / "work", "--set", f"corpus={text}", "--set", f"out={root}")
        problems = []
        for name in stages:
            print(f"{name}:", flush=True)
            arguments = [str(text), str(root / name), "--split", "train=rest", "--split", "validation=0.1",
                         "--log", str(place / "work" / "run.log"), "--stage", name]
            if compare_packed.main(arguments):
                problems.append(f"{name}: other rows than the text makes")
            ran(pipe, "verify", root / name)
            shown = ran(pipe, "cat", root / name).splitlines()
            info = json.loads((root / name / "packed.json").read_text())
            if len(shown) != sum(split["rows"] for split in info["splits"].values()):
                problems.append(f"pipe cat {name}: {len(shown)} lines")
        for check in (check_grain, check_google_writes_the_same, check_mmap):
            problems += check(root)
        best, stream = (json.loads((root / f"{packing}_example" / "packed.json").read_text())["splits"]["train"]
                        for packing in ("best_fit", "stream"))
        if (best["targets"], best["bytes"], best["chars"]) != (stream["targets"], stream["bytes"], stream["chars"]):
            problems.append("both packings should have each target once")
    return told(problems, f"{len(stages)} sets of rows, padding {best['padding']:.1%}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
