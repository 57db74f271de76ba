#!/usr/bin/env python3
"""Reads the payloads of a spill, by formats/spill_file.md, and compares their digest.

    spill_file.py FILE.spill
"""

import struct
import sys
from pathlib import Path

import xxh3
from checksums import crc32c
from cursor import Cursor, wants
from partition_file import footer
from zstd import decompressed


def rows_of(raw):
    """(hash, index, sub, payload) of each row of a frame."""
    cursor, rows = Cursor(raw), []
    while not cursor.ended():
        hashed, index, sub = cursor.number(8), cursor.varint(), cursor.varint()
        rows.append((hashed, index, sub, cursor.take(cursor.varint())))
    return rows


def bins_of(cursor):
    """{bin: [records, bytes]} of a split."""
    found, at = {}, -1
    for _ in range(cursor.varint()):
        at += 1 + cursor.varint()
        found[at] = cursor.varints(2)
    wants(at < 4096, f"bin {at}")
    return found


def frame(data, at, entry, compression):
    """The uncompressed bytes of the frame at this byte, and its end."""
    first, records, raw, stored, crc = entry
    body = data[at:at + stored]
    wants(len(body) == stored and crc32c(body) == crc, f"byte {at}: damaged frame")
    plain = decompressed(body, raw) if compression else body
    rows = rows_of(plain)
    wants(len(rows) == records and rows[0][0] == first, f"byte {at}: a frame of other rows")
    return plain, rows, at + stored


def read(data):
    """({name: value of the footer}, {number of a split: [(hash, index, sub, payload)]})."""
    end, begin = footer(data, b"PIPESPIL")
    partition, compression, at, splits = end.varints(2), end.number(1), 8, {}
    wants(compression in (0, 1), f"compression {compression}")
    parts = struct.pack("<QQ", *partition)
    for _ in range(end.varint()):
        number, bins = end.number(1), bins_of(end)
        found, plain = [], b""
        for _ in range(end.varint()):
            first, (records, raw) = end.number(8), end.varints(2)
            stored = end.varint() if compression else raw
            body, rows, at = frame(data, at, (first, records, raw, stored, end.number(4)), compression)
            found, plain = found + rows, plain + body
        wants(found == sorted(found, key=lambda row: row[:3]), f"split {number}: rows out of order")
        counted = {}
        for hashed, _, _, payload in found:
            entry = counted.setdefault(hashed >> 52, [0, 0])
            entry[:] = entry[0] + 1, entry[1] + len(payload)
        wants(counted == bins, f"split {number}: other bins than its rows have")
        parts += struct.pack("<QQ", number, len(found)) + plain
        splits[number] = found
    digest = "%016x%016x" % (end.number(8), end.number(8))
    end.end()
    wants(at == begin, f"the frames end at byte {at} of {begin}")
    wants(xxh3.digest(parts) == digest, "damaged, another digest than that of the footer")
    return {"partition": tuple(partition), "compression": compression, "digest": digest}, splits


if __name__ == "__main__":
    for split, found in read(Path(sys.argv[1]).read_bytes())[1].items():
        for hashed, index, sub, payload in found:
            print(split, f"{hashed:016x}", index, sub, payload.hex())
