#!/usr/bin/env python3
"""Reads an ArrayRecord file of `write_packed`, by formats/array_record.md: checks each hash, and prints each Example.

    array_record.py FILE
"""

import struct
import sys
from pathlib import Path

from cursor import Cursor, wants
from highway_hash import highway_hash
from tf_example import example, fields

KEY = struct.unpack("<4Q", b"Riegeli/records\n" * 2)
BLOCK, MAGIC = 65536, 0x71930E704FDAE05E


class Chunk:
    """The chunk that begins at byte `begin`: its kind, its records, and its end."""

    def __init__(self, data, begin):
        self.file, self.begin, self.end, self.headers = data, begin, begin, []
        header = self.take(40)
        wants(hashed(header[8:]) == header[:8], f"byte {begin}: damaged, the hash of a chunk's header does not fit")
        size, self.hash, kind, numbers = struct.unpack("<Q8sQQ", header[8:])
        self.kind, self.count, self.decoded = chr(kind & 255), kind >> 8, numbers
        self.data = self.take(size)
        wants(hashed(self.data) == self.hash, f"byte {begin}: damaged, the hash of a chunk's data does not fit")
        for at, previous, following in self.headers:
            wants((previous, following) == (at - begin, self.end - at), f"byte {at}: a header of another chunk")

    def take(self, size):
        """The next bytes of the chunk, without the block headers between them."""
        parts = b""
        while size:
            if self.end % BLOCK == 0:
                header = self.file[self.end:self.end + 24]
                wants(len(header) == 24 and hashed(header[8:]) == header[:8], f"byte {self.end}: damaged block header")
                self.headers.append((self.end, *struct.unpack("<QQ", header[8:])))
                self.end += 24
            part = self.file[self.end:min(self.end + size, self.end - self.end % BLOCK + BLOCK)]
            wants(part, f"byte {self.begin}: a chunk goes on behind the file")
            parts, size, self.end = parts + part, size - len(part), self.end + len(part)
        return parts

    def records(self):
        wants(self.kind == "r" and self.data[:1] == b"\0", f"byte {self.begin}: not a chunk of plain records")
        cursor = Cursor(self.data, 1)
        sizes = Cursor(cursor.take(cursor.varint()))
        records = [cursor.take(size) for size in sizes.varints(self.count)]
        sizes.end()
        cursor.end()
        wants(sum(map(len, records)) == self.decoded, f"byte {self.begin}: another size than the chunk's header has")
        return records


def hashed(data):
    return struct.pack("<Q", highway_hash(KEY, data))


def numbers(message):
    return {number: value for number, _, value in fields(message)}


def records(data):
    """The records of a file."""
    wants(len(data) >= 2 * BLOCK and len(data) % BLOCK == 0, f"{len(data)} bytes are no such file")
    signature = Chunk(data, 0)
    wants((signature.kind, signature.data, signature.count) == ("s", b"", 0), "byte 0: no signature")
    ends = Chunk(data, len(data) - BLOCK).records()
    wants(len(ends) == 3 and len(set(ends)) == 1 and numbers(ends[0]).get(2) == MAGIC, "a bad postscript")
    footer = Chunk(data, numbers(ends[0])[1])
    about, *entries = footer.records()
    about = numbers(numbers(about)[1])
    wants(about[1] == 1 and about[2] == about[3] == len(entries), "a bad footer")
    wants(about[4].startswith(b"group_size:1,"), "more records than one in a chunk")
    found, at = [], signature.end
    for entry in map(numbers, entries):
        chunk = Chunk(data, at)
        wants((entry[1], entry[2], entry[3]) == (at, chunk.decoded, 1), f"byte {at}: the footer has another chunk")
        found += chunk.records()
        at = chunk.end
    wants(at == footer.begin, f"byte {at}: the footer does not follow")
    return found


if __name__ == "__main__":
    for record in records(Path(sys.argv[1]).read_bytes()):
        print(example(record))
