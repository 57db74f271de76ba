#!/usr/bin/env python3
"""Reads the ids of a Megatron data set, by formats/megatron_index.md: NAME.bin with the index NAME.idx.

    megatron_index.py NAME
"""

import struct
import sys
from pathlib import Path

from cursor import Cursor, wants

TYPES = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 6: "d", 7: "f", 8: "H"}


def sequences(index, ids):
    """The ids of each sequence, in which each is a document. `index`, `ids`: the bytes of the two files."""
    cursor = Cursor(index)
    wants(cursor.take(9) == b"MMIDIDX\0\0", "another magic")
    wants(cursor.number(8) == 1, "another version")
    kind = cursor.number(1)
    wants(kind in TYPES, f"type {kind}")
    count, entries = cursor.number(8), cursor.number(8)
    wants(len(index) == 34 + 12 * count + 8 * entries, f"{len(index)} bytes for {count} sequences, {entries} entries")
    lengths = struct.unpack(f"<{count}i", cursor.take(4 * count))
    offsets = struct.unpack(f"<{count}q", cursor.take(8 * count))
    documents = struct.unpack(f"<{entries}q", cursor.take(8 * entries))
    wants(documents == tuple(range(count + 1)), "a document is no sequence")
    size, at, found = struct.calcsize("<" + TYPES[kind]), 0, []
    for length, offset in zip(lengths, offsets):
        wants(length >= 0 and offset == at, f"a sequence of {length} ids at byte {offset}, {at} were expected")
        at += length * size
        wants(at <= len(ids), f"a sequence ends at byte {at} of {len(ids)}")
        found.append(list(struct.unpack_from(f"<{length}{TYPES[kind]}", ids, offset)))
    wants(at == len(ids), f"the sequences end at byte {at} of {len(ids)}")
    return found


if __name__ == "__main__":
    for sequence in sequences(*(Path(sys.argv[1] + suffix).read_bytes() for suffix in (".idx", ".bin"))):
        print(*sequence)
