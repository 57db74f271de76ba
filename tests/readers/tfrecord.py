#!/usr/bin/env python3
"""Reads a TFRecord file, by formats/tfrecord.md: checks both CRCs of each record, and prints its Example.

    tfrecord.py FILE
"""

import sys
from pathlib import Path

from checksums import crc32c, masked
from cursor import Cursor, wants
from tf_example import example


def records(data):
    """Yields (offset of the record in the file, its bytes)."""
    cursor = Cursor(data)
    while not cursor.ended():
        at = cursor.at
        length = cursor.take(8)
        wants(masked(crc32c(length)) == cursor.number(4), f"byte {at}: damaged, the CRC of the length does not fit")
        record = cursor.take(int.from_bytes(length, "little"))
        wants(masked(crc32c(record)) == cursor.number(4), f"byte {at}: damaged, the CRC of the data does not fit")
        yield at, record


if __name__ == "__main__":
    for offset, found in records(Path(sys.argv[1]).read_bytes()):
        print(offset, example(found))
