"""HighwayHash-64 of github.com/google/highwayhash, for array_record.py."""

MASK = (1 << 64) - 1
MUL0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
MUL1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)


def halves(value):
    return (value >> 32 | value << 32) & MASK


def zipper(low, high):
    """What a merge adds to the two lanes: bytes of both, in another order."""
    both = low.to_bytes(8, "little") + high.to_bytes(8, "little")
    return (int.from_bytes(bytes(both[at] for at in (3, 12, 2, 5, 14, 1, 15, 0)), "little"),
            int.from_bytes(bytes(both[at] for at in (11, 4, 10, 13, 9, 6, 8, 7)), "little"))


class State:
    def __init__(self, key):
        self.mul0, self.mul1 = list(MUL0), list(MUL1)
        self.v0 = [mul ^ part for mul, part in zip(MUL0, key)]
        self.v1 = [mul ^ halves(part) for mul, part in zip(MUL1, key)]

    def update(self, lanes):
        v0, v1, mul0, mul1 = self.v0, self.v1, self.mul0, self.mul1
        for i in range(4):
            v1[i] = (v1[i] + mul0[i] + lanes[i]) & MASK
            mul0[i] ^= (v1[i] & 0xFFFFFFFF) * (v0[i] >> 32)
            v0[i] = (v0[i] + mul1[i]) & MASK
            mul1[i] ^= (v0[i] & 0xFFFFFFFF) * (v1[i] >> 32)
        for to, of in ((v0, v1), (v1, v0)):
            for i in (0, 2):
                for at, part in enumerate(zipper(of[i], of[i + 1])):
                    to[i + at] = (to[i + at] + part) & MASK

    def update_packet(self, packet):
        self.update([int.from_bytes(packet[at:at + 8], "little") for at in (0, 8, 16, 24)])

    def update_rest(self, rest):
        """The last 1 to 31 bytes."""
        size, whole = len(rest), len(rest) & ~3
        self.v0 = [(lane + (size << 32) + size) & MASK for lane in self.v0]
        for i, lane in enumerate(self.v1):
            parts = (lane & 0xFFFFFFFF, lane >> 32)
            low, high = ((part << size | part >> (32 - size)) & 0xFFFFFFFF for part in parts)
            self.v1[i] = high << 32 | low
        packet = bytearray(32)
        packet[:whole] = rest[:whole]
        if size & 16:
            packet[28:32] = rest[-4:]
        elif size & 3:
            left = rest[whole:]
            packet[16:19] = bytes((left[0], left[len(left) >> 1], left[-1]))
        self.update_packet(packet)


def highway_hash(key, data):
    """`key`: four numbers of 64 bits."""
    state = State(key)
    for at in range(0, len(data) & ~31, 32):
        state.update_packet(data[at:at + 32])
    if len(data) & 31:
        state.update_rest(data[len(data) & ~31:])
    for _ in range(4):
        state.update([halves(state.v0[i]) for i in (2, 3, 0, 1)])
    return (state.v0[0] + state.v1[0] + state.mul0[0] + state.mul1[0]) & MASK
