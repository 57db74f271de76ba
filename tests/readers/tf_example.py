"""A tf.train.Example, by formats/tf_example.md."""

import struct

from cursor import Cursor, Refused, wants


def fields(data):
    """Yields (number, wire type, value): a number, or bytes."""
    cursor = Cursor(data)
    while not cursor.ended():
        number, kind = divmod(cursor.varint(), 8)
        wants(number, f"byte {cursor.at}: field 0")
        if kind == 0:
            yield number, kind, cursor.varint()
        elif kind in (1, 5):
            yield number, kind, cursor.take(8 if kind == 1 else 4)
        elif kind == 2:
            yield number, kind, cursor.take(cursor.varint())
        else:
            raise Refused(f"byte {cursor.at}: wire type {kind}")


def int64(value):
    return value - (1 << 64) if value >> 63 else value


def int64_list(data):
    values = []
    for number, kind, value in fields(data):
        if (number, kind) == (1, 0):
            values.append(int64(value))
        elif (number, kind) == (1, 2):
            cursor = Cursor(value)
            while not cursor.ended():
                values.append(int64(cursor.varint()))
    return values


def float_list(data):
    packed = b"".join(value for number, kind, value in fields(data) if number == 1 and kind in (2, 5))
    wants(len(packed) % 4 == 0, "floats of no whole number of 4 bytes")
    return [value for value, in struct.iter_unpack("<f", packed)]


def bytes_list(data):
    return [value for number, kind, value in fields(data) if (number, kind) == (1, 2)]


LISTS = {1: bytes_list, 2: float_list, 3: int64_list}


def feature(data):
    """The values; None: a feature of no kind."""
    found, kept = None, b""
    for number, kind, value in fields(data):
        if kind == 2 and number in LISTS:
            found, kept = number, (kept if number == found else b"") + value
    return LISTS[found](kept) if found else None


def example(data):
    """{name: values} of one Example."""
    found = {}
    for number, kind, features in fields(data):
        if (number, kind) != (1, 2):
            continue
        for number, kind, entry in fields(features):
            if (number, kind) == (1, 2):
                parts = {number: value for number, kind, value in fields(entry) if kind == 2}
                found[parts.get(1, b"").decode()] = feature(parts.get(2, b""))
    return found
