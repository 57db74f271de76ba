#!/usr/bin/env python3
"""Reads the records of a partition, by formats/partition_file.md, and compares their digest.

    partition_file.py FILE.part
"""

import struct
import sys
from pathlib import Path

import xxh3
from checksums import crc32c
from cursor import Cursor, wants
from zstd import decompressed

HEADS = {"index": "Q", "sub": "I", "document": "Q", "key": "Q"}
TYPES = {1: "utf8", 2: "u32[]", 3: "u8"}


def footer(data, magic):
    """A cursor over the footer, and the byte at which it begins."""
    wants(data[:8] == magic and data[-8:] == magic and len(data) >= 32, "another head or trailer")
    size, version, crc = struct.unpack("<QII", data[-24:-8])
    begin = len(data) - 24 - size
    wants(version == 1 and begin >= 8, f"version {version}, a footer of {size} bytes")
    wants(crc32c(data[begin:-12]) == crc, f"byte {begin}: damaged, the crc of the footer does not fit")
    return Cursor(data[begin:-24]), begin


def differences(cursor, count):
    value, found = 0, []
    for zigzag in cursor.varints(count):
        value = value + (zigzag >> 1 ^ -(zigzag & 1)) & (1 << 64) - 1
        found.append(value)
    return found


def columns_of(cursor, count, schema):
    """{name: values} of the rows of a frame."""
    found = {"index": differences(cursor, count), "sub": cursor.varints(count), "document": differences(cursor, count)}
    found["key"] = []
    while len(found["key"]) < count:
        run = cursor.varint()
        wants(0 < run <= count - len(found["key"]), f"a run of {run} keys")
        found["key"] += [cursor.number(8)] * run
    for name, kind in schema:
        lengths = [] if kind == "u8" else cursor.varints(count)
        if kind == "u8":
            found[name] = list(cursor.take(count))
        elif kind == "utf8":
            found[name] = [cursor.take(length).decode() for length in lengths]
        else:
            found[name] = [list(struct.unpack(f"<{length}I", cursor.take(4 * length))) for length in lengths]
    cursor.end()
    return found


def digest_of(columns, count, schema):
    def hashed(kind, values):
        return struct.pack("<QQ", *divmod(int(xxh3.digest(struct.pack(f"<{len(values)}{kind}", *values)), 16), 1 << 64))

    parts = struct.pack("<Q", count) + b"".join(hashed(kind, columns[name]) for name, kind in HEADS.items())
    for name, kind in schema:
        parts += struct.pack("<QQ", *(n for n in TYPES if TYPES[n] == kind), len(name.encode())) + name.encode()
        values = [value.encode() for value in columns[name]] if kind == "utf8" else columns[name]
        if kind != "u8":
            parts += hashed("I", list(map(len, values)))
            values = [one for value in values for one in value]
        parts += hashed("I" if kind == "u32[]" else "B", values)
    return xxh3.digest(parts)


def read(data):
    """({name: value of the footer}, {column: values})."""
    end, begin = footer(data, b"PIPEPART")
    about = dict(zip(("input", "partition", "raw_end", "document_end"), end.varints(4)))
    schema = []
    for _ in range(end.varint()):
        kind = end.number(1)
        wants(kind in TYPES, f"type {kind}")
        schema.append((end.take(end.varint()).decode(), TYPES[kind]))
    frames = [end.varints(2) for _ in range(end.varint())]
    count, digest = end.varint(), "%016x%016x" % (end.number(8), end.number(8))
    end.end()
    columns, at = {name: [] for name in (*HEADS, *dict(schema))}, 8
    for size, rows in frames:
        stored, raw, records, crc = struct.unpack("<4I", data[at:at + 16])
        body = data[at + 16:at + size]
        wants((stored, records) == (size - 16, rows) and crc32c(body) == crc, f"byte {at}: damaged frame")
        for name, values in columns_of(Cursor(decompressed(body, raw)), records, schema).items():
            columns[name] += values
        at += size
    wants(at == begin and len(columns["index"]) == count, "the frames do not add up to the file")
    wants(digest_of(columns, count, schema) == digest, "damaged, another digest than that of the footer")
    return {**about, "schema": dict(schema), "records": count, "digest": digest}, columns


if __name__ == "__main__":
    for row in zip(*read(Path(sys.argv[1]).read_bytes())[1].values()):
        print(*row)
