"""Numbers and bytes of a file, one after the other, for the readers beside this file."""


class Refused(ValueError):
    """These bytes are none of the format."""


def wants(good, what):
    if not good:
        raise Refused(what)


class Cursor:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, size):
        left = len(self.data) - self.at
        wants(size <= left, f"byte {self.at}: {size} bytes should follow, {left} do")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        """Unsigned, little endian."""
        return int.from_bytes(self.take(size), "little")

    def varint(self):
        """LEB128: seven bits per byte, low bits first, the high bit set if more follow."""
        value = 0
        for place in range(10):
            byte = self.number(1)
            value |= (byte & 127) << 7 * place
            if byte < 128:
                wants(value < 1 << 64, f"byte {self.at}: a varint of more than 64 bits")
                return value
        raise Refused(f"byte {self.at}: a varint of more than ten bytes")

    def varints(self, count):
        return [self.varint() for _ in range(count)]

    def ended(self):
        return self.at == len(self.data)

    def end(self):
        wants(self.ended(), f"byte {self.at}: {len(self.data) - self.at} bytes are left over")
