"""CRC-32C (Castagnoli) in numpy, also masked as TFRecord stores it."""

from functools import lru_cache

import numpy as np

SEGMENT = 1024  # bytes at a time; their table takes 1 MiB


@lru_cache(maxsize=1)
def _tables():
    """Returns the table [k, b]: the part of byte b in the CRC if k bytes follow. A CRC is linear, so the parts of all
    bytes add up."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    tables = np.empty((SEGMENT, 256), np.uint32)
    tables[0] = table
    for following in range(1, SEGMENT):
        before = tables[following - 1]
        tables[following] = before >> 8 ^ table[before & 0xFF]
    return tables.ravel()


_PLACES = (np.arange(SEGMENT, dtype=np.int32) * 256)[::-1]


def crc32c(data, so_far=0):
    """Returns the CRC of the data with the CRC `so_far`, followed by `data`: bytes, or an array of uint8."""
    tables, state = _tables(), so_far ^ 0xFFFFFFFF
    data = np.frombuffer(data, np.uint8)
    for begin in range(0, len(data), SEGMENT):
        segment = data[begin:begin + SEGMENT].astype(np.int32)
        size = len(segment)
        # The state acts like bytes that are XORed with the first four of the segment.
        over = min(size, 4)
        segment[:over] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)[:over]
        state = state >> 8 * size ^ int(np.bitwise_xor.reduce(tables[_PLACES[SEGMENT - size:] + segment]))
    return state ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
