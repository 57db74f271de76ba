#!/usr/bin/env python3
"""Writes text for measuring in the layout of CC-100: a paragraph per line, a blank line after each document.

    make_corpus.py BYTES >corpus.txt

The bytes are the same on every machine. The words are invented. Their lengths, scripts, punctuation and repetition are
like those of Japanese prose, so that the text compresses about four to one and normalisation changes about a fifth of
the lines.
"""

import random
import sys

KANA = [chr(c) for c in range(0x3042, 0x3094) if chr(c) not in "ぃぅぇぉっゃゅょゎゐゑ"]
KATAKANA = [chr(ord(c) + 0x60) for c in KANA]
KANJI = [chr(c) for c in range(0x4E00, 0x9FA0, 9)]  # 2,318 of them
PARTICLES = "はがをにのでともへやか"
ENDINGS = ["。"] * 34 + ["」"] * 4 + ["？", "！"]
# NFKC changes these: full-width forms, half-width kana, compatibility characters, ideographic spaces.
ODDITIES = ["１９", "２０００", "ＡＢＣ", "（", "）", "ﾃﾞｰﾀ", "㈱", "①", "…", "　", "㎏", "Ⅳ"]


def words(chance, count):
    made = []
    for _ in range(count):
        kind = chance.random()
        if kind < 0.5:
            letters, length = KANJI, chance.choice((1, 2, 2, 2, 3))
        elif kind < 0.85:
            letters, length = KANA, chance.choice((2, 3, 3, 4, 5))
        else:
            letters, length = KATAKANA, chance.choice((3, 4, 5, 6))
        made.append("".join(chance.choices(letters, k=length)))
    return made


def documents(chance):
    """Yields documents without end, each with its blank line."""
    vocabulary = words(chance, 40_000)
    weights, total = [], 0.0
    for rank in range(1, len(vocabulary) + 1):
        total += 1.0 / rank  # Zipf
        weights.append(total)
    while True:
        lines = []
        for _ in range(max(1, int(chance.expovariate(1 / 120)))):
            line = ["　"] if chance.random() < 0.05 else []
            for _ in range(1 + int(chance.expovariate(1 / 1.6))):  # sentences
                for word in chance.choices(vocabulary, cum_weights=weights, k=4 + int(chance.expovariate(1 / 6))):
                    line += (word, chance.choice(PARTICLES))
                if chance.random() < 0.02:
                    line.append(chance.choice(ODDITIES))
                line.append(chance.choice(ENDINGS))
            lines.append("".join(line))
        yield "\n".join(lines) + "\n\n"


def main(size):
    written = 0
    for document in documents(random.Random(1)):
        data = document.encode("utf-8")
        sys.stdout.buffer.write(data)
        written += len(data)
        if written >= size:
            return


if __name__ == "__main__":
    main(int(sys.argv[1]))
