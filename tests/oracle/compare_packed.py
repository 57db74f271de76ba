#!/usr/bin/env python3
"""Makes the packed rows of a corpus a second time, from the corpus on, and holds what `write_packed` left against them.

    compare_packed.py CORPUS PACKED_DIR [--form nfkc] [--split NAME=FRACTION ...] [--log RUN_LOG --stage STAGE]

Every `packing` and `encoding` is known; each shard is read as its readers read it (packed_readers.py).

The second chain is Python's own: unicodedata, the sentencepiece package with the model that lies beside the shards, xxhash
for the split, a plain list of ids for each stream. Splits come in the order of the pipeline
file, `NAME=rest` among them; without any, all is `train`. The log says where partitions end; without it the corpus
is one. Exit code 0: every row of every split is there as often as it should be, with its length, bytes and
characters; every index names the bytes that its shard has; every total is the sum that it should be.
"""

import argparse
import bisect
import json
import lzma
import math
import os
import re
import struct
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import packed_readers
from compare_tfds import SPACE

SPLIT_SEED = 0x73706C6974  # "split"


def clean(raw, form):
    line = raw.decode("utf-8", errors="replace").replace("\0", "\ufffd")
    if form != "none":
        line = unicodedata.normalize(form.upper(), line)
    return SPACE.sub(" ", line).strip(" ")


def documents(path, form):
    """Yields (key bytes, expected lines) of each document: formats/lines.md, blank_line."""
    def finish(raw_lines):
        return b"\n".join(raw_lines)[:1024], [line for line in (clean(raw, form) for raw in raw_lines) if line]

    raw_lines = []
    with (lzma.open(path) if path.suffix == ".xz" else path.open("rb")) as stream:
        for number, raw in enumerate(stream):
            raw = raw.removesuffix(b"\n").removesuffix(b"\r")
            if number == 0:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if raw:
                raw_lines.append(raw)
            elif raw_lines:
                yield finish(raw_lines)
                raw_lines = []
    if raw_lines:
        yield finish(raw_lines)


def borders(log, stage):
    """Per partition of input 0 the number of the first document after it, by the last line of each in the log."""
    ends = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        kind, *fields = line.split("\t")
        values = dict(field.split("=", 1) for field in fields if "=" in field)
        unit = re.fullmatch(re.escape(stage) + r"/0000-(\d{5,})", values.get("unit", ""))
        if unit and kind == "done":
            ends[int(unit[1])] = int(values.get("document_end", 0))
    return [ends[number] for number in sorted(ends)]


class SplitRule:
    """stages/lines/split.cc: the hash of the document's key against cumulative fractions."""

    def __init__(self, splits):
        import xxhash

        self._hash = xxhash.xxh3_64_intdigest
        rest = 1 - sum(float(fraction) for _, fraction in splits if fraction != "rest")
        self.names = [name for name, _ in splits]
        self._ends, end = [], 0
        for _, fraction in splits:
            end += math.floor((rest if fraction == "rest" else float(fraction)) * 2.0 ** 64)
            self._ends.append(end)

    def of(self, key_bytes):
        key = self._hash(key_bytes, seed=0)
        position = self._hash(struct.pack("<Q", key), seed=SPLIT_SEED)
        return next((name for name, end in zip(self.names, self._ends) if position < end), self.names[-1])


class Stream:
    """All ids of one (partition, split), and the bytes and characters that each counts."""

    def __init__(self, eos):
        self.ids, self.bytes, self.chars = [eos], [0], [0]
        self.documents = [-1]  # by id; the first is of an id that no row counts

    def begin_document(self):
        self.document = self.documents[-1] + 1

    def end_line(self, end):
        self.add(end, 1, 1)

    def add(self, token, size, chars):
        self.ids.append(token)
        self.bytes.append(size)
        self.chars.append(chars)
        self.documents.append(self.document)

    def rows(self, seq_len, fill, best_fit=False, segments=False):
        """Yields (ids, length, bytes, chars), and with `segments` also the segment ids and positions."""
        room = seq_len
        parts = self.best_fit(room) if best_fit else [[at] for at in range(1, len(self.ids), room)]
        for begins in parts:
            indices = [begins[0] - 1] if not best_fit or self.continues(begins[0]) else [0]
            documents = [self.documents[indices[0]]]
            for number, at in enumerate(begins):
                end = min(at + room, len(self.ids)) if not best_fit else self.end_of(at, room)
                indices += range(at, end)
                documents += [(number, document) if best_fit and number else document
                              for document in self.documents[at:end]]
            fill_up = [fill] * (seq_len + 1 - len(indices))
            row = (tuple([self.ids[at] for at in indices] + fill_up), len(indices),
                   sum(self.bytes[at] for at in indices[1:]), sum(self.chars[at] for at in indices[1:]))
            yield row + segments_of(documents, len(fill_up)) if segments else row

    def continues(self, at):
        return self.documents[at] == self.documents[at - 1]

    def end_of(self, begin, room):
        document, end = self.documents[begin], begin
        while end < len(self.ids) and self.documents[end] == document and end < begin + room:
            end += 1
        return end

    def best_fit(self, room):
        """For each row the beginnings of its parts in the stream: stages/export/packed/packed.md, best_fit."""
        parts, at = [], 1
        while at < len(self.ids):
            end = self.end_of(at, room)
            parts.append((end - at, at))
            at = end
        rows, rooms = [], []  # rooms: (free ids, row), sorted
        for length, begin in sorted(parts, key=lambda part: (-part[0], part[1])):
            fitting = bisect.bisect_left(rooms, (length, -1))
            if fitting == len(rooms):
                rows.append([])
                left, number = room, len(rows) - 1
            else:
                left, number = rooms.pop(fitting)
            rows[number].append(begin)
            bisect.insort(rooms, (left - length, number))
        return sorted(sorted(row) for row in rows)


def segments_of(documents, filled):
    numbers, positions = [], []
    for at, document in enumerate(documents):
        new = at == 0 or document != documents[at - 1]
        numbers.append(1 if at == 0 else numbers[-1] + new)
        positions.append(0 if new else positions[-1] + 1)
    return tuple(numbers + [0] * filled), tuple(positions + [0] * filled)


def add_document(stream, lines, model, special):
    stream.begin_document()
    for number, line in enumerate(lines):
        before = 0
        pieces = model.encode(line, out_type="immutable_proto").pieces
        for at, piece in enumerate(pieces):
            end = piece.end if at + 1 < len(pieces) else len(line)  # includes characters cut off by a normaliser
            text = line[before:end]
            stream.add(piece.id, len(text.encode()), len(text))
            before = end
        last = number + 1 == len(lines)
        stream.end_line(special["eos_id"] if last or special["newline_id"] < 0 else special["newline_id"])


def expected_rows(options, info, model):
    """Expected rows of each split, with their counts."""
    rule = SplitRule(options.split or [("train", "rest")])
    ends = borders(options.log, options.stage) if options.log else []
    rows = {name: Counter() for name in rule.names}

    def finish(streams):
        for name, stream in streams.items():
            rows[name].update(stream.rows(info["seq_len"], info["fill_id"], info.get("packing") == "best_fit",
                                          info.get("segments", False)))

    streams, partition = {}, 0
    for number, (key, lines) in enumerate(documents(options.corpus, options.form)):
        while partition < len(ends) and number >= ends[partition]:
            finish(streams)
            streams, partition = {}, partition + 1
        if lines:
            name = rule.of(key)
            stream = streams.setdefault(name, Stream(info["tokenizer"]["eos_id"]))
            add_document(stream, lines, model, info["tokenizer"])
    finish(streams)
    return rows


def read_shard(directory, info, shard, wrong):
    """Yields (ids, length, bytes, chars) of a shard, or the part of it that its encoding keeps."""
    records = packed_readers.rows_of(directory, info, shard)
    if info.get("encoding") == "mmap":  # its index is Megatron's
        if len(records) != shard["rows"]:
            wrong.append(f"{shard['object']}: {len(records)} rows, packed.json counts {shard['rows']}")
        yield from ((tuple(ids),) for ids, _, _ in records)
        return
    index = (directory / shard["index"]).read_bytes()
    entries = [struct.unpack_from("<QIII", index, at) for at in range(0, len(index), 20)]
    if not len(records) == len(entries) == shard["rows"] or len(index) % 20:
        wrong.append(f"{shard['object']}: {len(records)} records, {len(index)} bytes of index, "
                     f"packed.json counts {shard['rows']}")
    offset = 0
    for (ids, segments, bytes_taken), (its_offset, length, size, chars) in zip(records, entries):
        if offset != its_offset:
            wrong.append(f"{shard['object']}: a row at {offset}, its index says {its_offset}")
        offset += bytes_taken
        yield (tuple(ids), length, size, chars, *segments)


def found_rows(directory, info, wrong):
    rows, mmap = {}, info.get("encoding") == "mmap"
    keys = ("rows",) if mmap else ("rows", "tokens", "targets", "bytes", "chars")
    for name, split in info["splits"].items():
        rows[name] = Counter()
        sums = Counter()
        for shard in split["shards"]:
            of_shard = Counter()
            for row in read_shard(directory, info, shard, wrong):
                rows[name][row] += 1
                of_shard.update(rows=1)
                if not mmap:
                    of_shard.update(tokens=row[1], targets=row[1] - 1, bytes=row[2], chars=row[3])
            sums += of_shard
            wrong += [f"{shard['object']}: {shard[key]} {key} in packed.json, its rows have {of_shard[key]}"
                      for key in keys if of_shard[key] != shard[key]]
        wrong += [f"{name}: {split[key]} {key} in packed.json, its shards have {sums[key]}"
                  for key in keys if sums[key] != split[key]]
        if info.get("packing") == "best_fit":
            ids = split["rows"] * (info["seq_len"] + 1)
            share = round(1 - split["tokens"] / ids, 6) if ids else 0
            if abs(share - split["padding"]) > 1.5e-6:
                wrong.append(f"{name}: padding {split['padding']} in packed.json, {share} of its ids fill rows")
    return rows


def compare(expected, found, info):
    for name in sorted(expected.keys() | found.keys()):
        missing, extra = expected.get(name, Counter()), found.get(name, Counter())
        missing, extra = missing - extra, extra - missing
        left_out = info["splits"].get(name, {}).get("left_out", 0)
        if missing.total() == left_out and not extra:
            continue
        yield f"{name}: {missing.total()} rows are missing, {left_out} were left out, {extra.total()} are not of the corpus"
        for row in list(missing)[:1]:
            yield f"  missing {row[1:]} {row[0][:20]} ..."
        for row in list(extra)[:1]:
            yield f"  extra   {row[1:]} {row[0][:20]} ..."


def split(text):
    name, fraction = text.split("=")
    return name, fraction


def main(argv):
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("corpus", type=Path, help="a text file, or an .xz of one")
    arguments.add_argument("packed", type=Path, help="the directory with packed.json in it")
    arguments.add_argument("--form", choices=("nfkc", "nfc", "none"), default="nfkc")
    arguments.add_argument("--split", type=split, action="append", default=[], metavar="NAME=FRACTION")
    arguments.add_argument("--log", type=Path, help="run.log of the work directory")
    arguments.add_argument("--stage", default="packed", help="the stage's name in that log")
    options = arguments.parse_args(argv)

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import sentencepiece

    info = json.loads((options.packed / "packed.json").read_text(encoding="utf-8"))
    model = sentencepiece.SentencePieceProcessor(model_file=str(options.packed / info["tokenizer"]["model"]))
    wrong = []
    if model.vocab_size() != info["tokenizer"]["vocab_size"]:
        wrong.append(f"the model has {model.vocab_size()} pieces, packed.json says {info['tokenizer']['vocab_size']}")
    found = found_rows(options.packed, info, wrong)
    expected = expected_rows(options, info, model)
    if info.get("encoding") == "mmap":  # the encoding has no length of a row
        expected = {name: Counter((row[0],) for row in rows.elements()) for name, rows in expected.items()}
    wrong += compare(expected, found, info)
    for name, rows in found.items():
        totals = info["splits"][name]
        print(f"{name}: {rows.total():,} rows, {totals['targets']:,} targets, {totals['chars']:,} characters")
    for line in wrong:
        print(line, file=sys.stderr)
    print("DIFFERENT" if wrong else "equal     every row, length, count and offset")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
