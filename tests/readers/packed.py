#!/usr/bin/env python3
"""Reads what `write_packed` publishes, by stages/export/packed/packed.md, and holds it against packed.json.

    packed.py DIRECTORY
"""

import json
import struct
import sys
from pathlib import Path

import array_record
import megatron_index
import tfrecord
from cursor import wants
from tf_example import example


def index_entries(data):
    """(offset, length, bytes, characters) of each row: a .rows, or the .idx of a TFRecord."""
    wants(len(data) % 20 == 0, f"{len(data)} bytes are no index")
    entries = list(struct.iter_unpack("<QIII", data))
    for at, (offset, length, *_) in enumerate(entries):
        wants(length >= 2 and (offset > entries[at - 1][0] if at else offset == 0), f"entry {at} is damaged")
    return entries


def raw_rows(data, info):
    """Yields (offset, ids)."""
    width, kind = info["seq_len"] + 1, {"uint16": "H", "uint32": "I"}[info["dtype"]]
    size = width * struct.calcsize("<" + kind)
    wants(len(data) % size == 0, f"{len(data)} bytes are no rows of {size}")
    for at in range(0, len(data), size):
        yield at, list(struct.unpack_from(f"<{width}{kind}", data, at))


def shard_rows(directory, shard, info):
    """Yields (offset as the index counts, {feature: numbers}) of each row."""
    data, encoding, offset = (directory / shard["object"]).read_bytes(), info.get("encoding", "example"), 0
    if encoding == "example":
        for at, record in tfrecord.records(data):
            yield at, example(record)
    elif encoding == "array_record":
        for record in array_record.records(data):
            yield offset, example(record)
            offset += len(record)
    else:
        for at, ids in raw_rows(data, info):
            yield at, {"tokens": ids}


def check_row(row, length, info):
    width, tokens = info["seq_len"] + 1, row[info.get("feature", "tokens")]
    segments, weights = info.get("segments", False), info.get("weights", False)
    names = ["positions", "segment_ids"] * segments + ["tokens"] + ["weights"] * weights
    wants(list(row) == names, f"features {list(row)}")
    wants(all(len(values) == width for values in row.values()), "a row of another length")
    wants(all(0 <= token < info["tokenizer"]["vocab_size"] for token in tokens), "an id beyond the vocabulary")
    wants(tokens[length:] == [info["fill_id"]] * (width - length), "ids behind the end of a row")
    weights = row.get("weights", [0])
    wants(set(weights) <= {0, 1} and not weights[0] and not any(weights[length:]), "wrong weights")


def shard(directory, about, info):
    """({feature: numbers}, (ids without padding, bytes, characters)) of each row; documents and rows of `mmap` have no
    numbers of the second kind."""
    index = (directory / about["index"]).read_bytes()
    if info.get("encoding") == "mmap":
        ids_of = megatron_index.sequences(index, (directory / about["object"]).read_bytes())
        rows = [({"tokens": ids}, None) for ids in ids_of]
        count = "documents" if info.get("packing") == "documents" else "rows"
        wants(len(rows) == about[count], f"{len(rows)} {count}")
        return rows
    entries, rows, sums = index_entries(index), [], [0] * 5
    for at, (offset, row) in enumerate(shard_rows(directory, about, info)):
        wants(at < len(entries) and entries[at][0] == offset, f"row {at}: the index has another offset")
        _, length, size, characters = entries[at]
        check_row(row, length, info)
        rows.append((row, (length, size, characters)))
        for place, value in enumerate((1, length, length - 1, size, characters)):
            sums[place] += value
    names = ("rows", "tokens", "targets", "bytes", "chars")
    wants([about[name] for name in names] == sums and len(entries) == len(rows), f"{names} are {sums}")
    return rows


def rows_of(directory):
    """(packed.json, {split: rows})."""
    directory = Path(directory)
    info = json.loads((directory / "packed.json").read_text(encoding="utf-8"))
    wants(1 <= info["pipe_packed"] <= 5, f"version {info['pipe_packed']}")
    return info, {name: [row for about in split["shards"] for row in shard(directory, about, info)]
                  for name, split in info["splits"].items()}


if __name__ == "__main__":
    for name, found in rows_of(sys.argv[1])[1].items():
        for row, _ in found:
            print(name, *(f"{feature} {numbers}" for feature, numbers in sorted(row.items())))
