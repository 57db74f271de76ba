"""CRC-32C (Castagnoli) in numpy, masked as TFRecord stores it."""

from functools import lru_cache

import numpy as np

SEGMENT = 1024  # bytes at a time: their table takes 1 MiB


@lru_cache(maxsize=1)
def _tables():
    """[k, b]: what byte b adds to the CRC when k bytes follow. A CRC is linear, so that bytes add up."""
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
    """Of what `so_far` is the CRC of, followed by bytes, or by an array of uint8."""
    tables, state = _tables(), so_far ^ 0xFFFFFFFF
    data = np.frombuffer(data, np.uint8)
    for begin in range(0, len(data), SEGMENT):
        segment = data[begin:begin + SEGMENT].astype(np.int32)
        size = len(segment)
        # The state so far acts as if its bytes lay over the first four of what follows.
        over = min(size, 4)
        segment[:over] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)[:over]
        state = state >> 8 * size ^ int(np.bitwise_xor.reduce(tables[_PLACES[SEGMENT - size:] + segment]))
    return state ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
