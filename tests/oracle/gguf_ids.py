"""Text to ids by the metadata of a GGUF alone, as llama.cpp does it (src/llama-vocab.cpp): its tokenizers `t5` and
`llama`. Written for tests: slow, and in the order of the description."""

import struct

NORMAL, UNKNOWN, USER_DEFINED, UNUSED, BYTE = 1, 2, 4, 5, 6
SPACE = "▁"


class Reader:
    """`metadata`: {key: value} with the keys behind `tokenizer.ggml.`."""

    def __init__(self, metadata):
        self.read, self.ids = metadata, {text: number for number, text in enumerate(metadata["tokens"])}
        self.kinds, self.scores = metadata["token_type"], metadata["scores"]
        self.whole = sorted((text for text, number in self.ids.items() if self.kinds[number] == USER_DEFINED),
                            key=len, reverse=True)

    def tokens(self, text):
        """User-defined pieces part a text; each part is a text of its own."""
        parts = [text]
        for piece in self.whole:
            parts = [found for part in parts for found in (split(part, piece) if isinstance(part, str) else [part])]
        cut = {"t5": self._unigram, "llama": self._merged}[self.read["model"]]
        begin = [self.read["bos_token_id"]] if self.read["add_bos_token"] else []
        return begin + [number for part in parts if part != "" for number in
                        (cut(part) if isinstance(part, str) else [self.ids[part[0]]])]

    def _normalised(self, text):
        made, inside, begun = "", False, False
        for character in self._replaced(text):
            if character == " ":
                inside = False
                made += "" if self.read["remove_extra_whitespaces"] else SPACE
                continue
            if not inside and (self.read["remove_extra_whitespaces"] or self.read["add_space_prefix"] and not begun):
                made, begun = made + SPACE, True
            made, inside = made + character, True
        return made

    def _replaced(self, text):
        """Replaces the longest known beginning again and again, by a double array of 32-bit units."""
        table = bytes(self.read.get("precompiled_charsmap", b""))
        if not table:
            return text
        size = struct.unpack_from("<I", table)[0]
        units, texts = struct.unpack_from(f"<{size // 4}I", table, 4), table[4 + size:]

        def base(unit):
            return unit >> 10 << ((unit & 1 << 9) >> 6)
        data, at, made = text.encode(), 0, b""
        while at < len(data):
            node, longest, place = base(units[0]), 0, None
            for length, byte in enumerate(data[at:], 1):
                node ^= byte
                if byte == 0 or units[node] & (1 << 31 | 0xFF) != byte:
                    break
                leaf, node = units[node] >> 8 & 1, node ^ base(units[node])
                if leaf:
                    longest, place = length, units[node] & (1 << 31) - 1
            if longest:
                made += texts[place:texts.index(b"\0", place)]
            else:
                longest = next(length for length in range(1, 5) if at + length == len(data)
                               or data[at + length] & 0xC0 != 0x80)
                made += data[at:at + longest]
            at += longest
        return made.decode()

    def _unigram(self, text):
        """The likeliest way to cut a text. A character without a piece is unknown, ten worse than the worst piece."""
        text = self._normalised(text)
        unknown = self.read["unknown_token_id"]
        worst = min(score for score, kind in zip(self.scores, self.kinds) if kind == NORMAL) - 10
        longest = max(map(len, self.ids))
        best = [(0.0, 0, unknown)] + [None] * len(text)  # (score, begin of the last id, that id) of each beginning
        for begin in range(len(text)):
            for end in range(begin + 1, min(len(text), begin + longest) + 1):
                number = self.ids.get(text[begin:end], unknown)
                if self.kinds[number] not in (NORMAL, USER_DEFINED, UNUSED):
                    if end > begin + 1:
                        continue
                    number = unknown
                score = {unknown: worst}.get(number, 0.0 if self.kinds[number] == USER_DEFINED else self.scores[number])
                if best[end] is None or best[begin][0] + score > best[end][0]:
                    best[end] = (best[begin][0] + score, begin, number)
        made, at = [], len(text)
        while at:
            if not (best[at][2] == unknown and made and made[-1] == unknown):
                made.append(best[at][2])
            at = best[at][1]
        return made[::-1]

    def _merged(self, text):
        """Merges the two neighbours whose piece has the greatest score, the first of equal ones, while there are any."""
        parts = list((" " * self.read["add_space_prefix"] + text).replace(" ", SPACE))
        while True:
            pairs = [(-self.scores[self.ids[one + other]], at) for at, (one, other) in enumerate(zip(parts, parts[1:]))
                     if one + other in self.ids]
            if not pairs:
                return [number for part in parts for number in
                        ([self.ids[part]] if part in self.ids else [self.ids[f"<0x{byte:02X}>"] for byte in part.encode()])]
            at = min(pairs)[1]
            parts[at:at + 2] = [parts[at] + parts[at + 1]]


def split(text, piece):
    """Parts of a text around a piece, which is (piece,)."""
    first, *rest = text.split(piece)
    return [first, *(part for one in rest for part in ((piece,), one))]
